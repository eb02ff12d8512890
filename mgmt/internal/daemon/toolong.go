// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"net/netip"

	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/xfrm"
)

// tellSenders answers frames that the inner chip punted because they are too long for their path,
// until ctx ends or the chips fail: their senders learn how long packets may be. One flow is told
// once in askAgain, and no more than mostAsked flows in that time.
func (d *Daemon) tellSenders(ctx context.Context, frames <-chan []byte, send func(frame []byte) error) error {
	return d.eachFlow(ctx, frames, func(frame []byte, flow xfrm.Selector, note func() bool) error {
		from, mtu, err := d.tooLong(frame)
		if err != nil || mtu == 0 {
			return err
		}
		head, packet, _ := punt.SplitFrame(frame)
		answer, ok := punt.TooBig(head, packet, from, mtu)
		if !ok || !note() {
			return nil
		}
		if err := send(answer); err != nil {
			return err
		}
		d.log.Debug("a sender was told of the path's MTU", "src", flow.Src.Addr(), "dst", flow.Dst.Addr(), "mtu", mtu)
		return nil
	})
}

// tooLong says what the sender of the packet in a frame is to be told, and from which address; 0
// if nothing.
func (d *Daemon) tooLong(frame []byte) (from netip.Addr, mtu uint32, err error) {
	v, err := d.view()
	if err != nil {
		return from, 0, err
	}
	packet, ok := punt.ReadPacket(frame, v.Skipped())
	if !ok || !punt.Answerable(packet) {
		return from, 0, nil
	}
	from, mtu = v.TooLong(packet)
	return from, mtu, nil
}
