// Package peer is what two daemons of boxes with the same SAs tell each other, so that one can go on where the other ended
// (docs/decisions/0008). Whoever connects sends a question of random bytes, and gets a JSON object behind the HMAC of both (RFC 2104, SHA-256) under the
// pair's secret, so an answer is of the other box and newer than its question. It is not encrypted: no key of an SA is in it.
package peer

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/xfrm"
)

// mostReport is the longest report: of 64 Ki SAs each way.
const mostReport = 32 << 20

// LeastSecret is the shortest secret, in bytes: as long as the HMAC.
const LeastSecret = sha256.Size

// mostAsking bounds how many connections are answered at a time; one is the other box's.
const mostAsking = 8

type question [32]byte

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
func Ask(ctx context.Context, address string, secret []byte) (report Report, err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return report, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	var q question
	rand.Read(q[:])
	if _, err := conn.Write(q[:]); err != nil {
		return report, err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, mostReport))
	if err != nil {
		return report, err
	}
	tag, text := answer[:min(sha256.Size, len(answer))], answer[min(sha256.Size, len(answer)):]
	if !hmac.Equal(tag, authenticate(secret, q, text)) {
		return report, fmt.Errorf("what %s answers is not of the other box: the keys of the two differ, or it is somebody else", address)
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return report, fmt.Errorf("the report of %s: %w", address, err)
	}
	if report.Side != SideA && report.Side != SideB {
		return report, fmt.Errorf("%s says that its side is %q", address, report.Side)
	}
	return report, nil
}

func authenticate(secret []byte, q question, text []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(q[:])
	mac.Write(text)
	return mac.Sum(nil)
}

// Serve answers whoever asks until ctx ends or there is nothing to report any more. A question may take as long as timeout.
func Serve(ctx context.Context, listener net.Listener, timeout time.Duration, secret []byte, report func() (Report, error)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(1 + mostAsking)
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	group.Go(func() error {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) && ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			group.Go(func() error { return answer(ctx, conn, timeout, secret, report) })
		}
	})
	return group.Wait()
}

// answer fails if there is nothing to report; who asks badly, or does not wait, may ask again.
func answer(ctx context.Context, conn net.Conn, timeout time.Duration, secret []byte, report func() (Report, error)) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	var q question
	if _, err := io.ReadFull(conn, q[:]); err != nil {
		return nil
	}
	r, err := report()
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(timeout))
	_, _ = conn.Write(append(authenticate(secret, q, text), text...))
	return nil
}
