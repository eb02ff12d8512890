// Package peer is what two daemons of boxes with the same SAs tell each other, so that one can go on where the other ended
// (docs/decisions/0008): one JSON object from whoever is connected to, which then ends the connection. No key is in it. It is neither encrypted
// nor authenticated: the link is the administrator's to protect.
package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"sallyport/mgmt/internal/xfrm"
)

// mostReport is the longest report: of 64 Ki SAs each way.
const mostReport = 32 << 20

// Side tells the two boxes apart. Each has half of the IVs of every key.
type Side string

// The sides.
const (
	SideA Side = "a"
	SideB Side = "b"
)

// IVMask is what the box of a side XORs its sequence numbers with for IVs.
func (s Side) IVMask() uint64 {
	if s == SideB {
		return xfrm.MaxNumber + 1
	}
	return 0
}

// Report is what a box says of itself. Its numbers were read after it was asked.
type Report struct {
	Side    Side     `json:"side"`
	Active  bool     `json:"active"` // its ports are open
	Numbers []Number `json:"numbers"`
}

// Number is the last sequence number that an outbound SA of the box used, or the highest that an inbound one received.
type Number struct {
	xfrm.ID
	Dir    xfrm.Dir `json:"dir"`
	Number uint64   `json:"number"`
}

// Ask gets the report of the box at an address.
func Ask(ctx context.Context, address string) (report Report, err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return report, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if err := json.NewDecoder(io.LimitReader(conn, mostReport)).Decode(&report); err != nil {
		return report, fmt.Errorf("the report of %s: %w", address, err)
	}
	if report.Side != SideA && report.Side != SideB {
		return report, fmt.Errorf("%s says that its side is %q", address, report.Side)
	}
	return report, nil
}

// Serve answers whoever asks until ctx ends or there is nothing to report any more.
func Serve(ctx context.Context, listener net.Listener, timeout time.Duration, report func() (Report, error)) error {
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) && ctx.Err() != nil {
				return nil
			}
			return err
		}
		r, err := report()
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(timeout))
			_ = json.NewEncoder(conn).Encode(r) // who did not wait will ask again
		}
		conn.Close()
		if err != nil {
			return err
		}
	}
}
