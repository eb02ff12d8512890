package daemon

import (
	"context"

	"sallyport/mgmt/internal/box"
	"sallyport/mgmt/internal/xfrm"
)

// answerAsking takes frames that the inner chip punted by a policy, until ctx ends or the chips fail. Where an SA is missing that is an event, and the
// frame goes no further: nobody may send it on in clear. What a policy punts is delivered to Linux.
func (d *Daemon) answerAsking(ctx context.Context, frames <-chan []byte, deliver func(frame []byte) error) error {
	return d.eachFlow(ctx, frames, func(frame []byte, _ xfrm.Selector, note func() bool) error {
		d.mu.Lock()
		asking, event, err := d.session.Acquire(frame)
		d.mu.Unlock()
		switch {
		case err != nil:
			return err
		case asking == box.AskedPunt:
			return deliver(frame)
		case asking == box.AskedSA && note():
			d.tell(event)
		}
		return nil
	})
}
