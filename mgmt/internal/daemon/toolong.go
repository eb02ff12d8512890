package daemon

import (
	"context"

	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/xfrm"
)

// tellSenders answers frames that the inner chip punted because they are too long for their path, until ctx ends or the chips fail: their senders learn how
// long packets may be. One flow is told once in askAgain, and no more than mostAsked flows in that time.
func (d *Daemon) tellSenders(ctx context.Context, frames <-chan []byte, send func(frame []byte) error) error {
	return d.eachFlow(ctx, frames, func(frame []byte, flow xfrm.Selector, note func() bool) error {
		d.mu.Lock()
		long, ok, err := d.session.TooLong(frame)
		d.mu.Unlock()
		if err != nil || !ok {
			return err
		}
		answer, ok := punt.TooBig(long.Head, long.Packet, long.From, long.MTU)
		if !ok || !note() {
			return nil
		}
		if err := send(answer); err != nil {
			return err
		}
		d.log.Debug("a sender was told of the path's MTU", "src", flow.Src.Addr(), "dst", flow.Dst.Addr(), "mtu", long.MTU)
		return nil
	})
}
