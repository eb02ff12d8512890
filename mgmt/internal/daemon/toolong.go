// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"

	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/xfrm"
)

// tellSenders answers frames that the inner chip punted because they are too long for their path,
// until ctx ends or the chips fail: their senders learn how long packets may be. One flow is told
// once in askAgain, no more than mostAsked flows in that time, and a source no more than its share.
func (d *Daemon) tellSenders(ctx context.Context, frames <-chan []byte, send func(frame []byte) error) error {
	return d.eachFlow(ctx, frames, func(frame []byte, flow xfrm.Selector, note func() bool) error {
		v, from, err := d.answerer(flow)
		if err != nil || !from.IsValid() {
			return err
		}
		packet, _ := punt.ReadPacket(frame, v.Skipped())
		mtu := v.TooLong(packet)
		if mtu == 0 {
			return nil
		}
		head, data, _ := punt.SplitFrame(frame)
		answer, ok := punt.TooBig(head, data, from, mtu)
		if !ok || !d.shares.take(flow.Src.Addr(), d.now()) || !note() {
			return nil
		}
		if err := send(answer); err != nil {
			return err
		}
		d.log.Debug("a sender was told of the path's MTU", "src", flow.Src.Addr(), "dst", flow.Dst.Addr(), "mtu", mtu)
		return nil
	})
}
