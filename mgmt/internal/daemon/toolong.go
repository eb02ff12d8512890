package daemon

import (
	"context"

	"sallyport/mgmt/internal/box"
	"sallyport/mgmt/internal/punt"
)

// tellSenders answers frames that the inner chip punted because they are too long for their path, until ctx ends or the chips fail: their senders learn how
// long packets may be. One flow is told once in askAgain, and no more than mostAsked flows in that time.
func (d *Daemon) tellSenders(ctx context.Context, frames <-chan []byte, send func(frame []byte) error) error {
	told := questions{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			flow, ok := box.Flow(frame)
			now := d.now()
			if !ok || told.waiting(flow, now) {
				continue
			}
			d.mu.Lock()
			long, ok, err := d.session.TooLong(frame)
			d.mu.Unlock()
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			answer, ok := punt.TooBig(long.Head, long.Packet, long.From, long.MTU)
			if !ok || !told.add(flow, now) {
				continue
			}
			if err := send(answer); err != nil {
				return err
			}
			d.log.Debug("a sender was told of the path's MTU", "src", flow.Src.Addr(), "dst", flow.Dst.Addr(), "mtu", long.MTU)
		}
	}
}
