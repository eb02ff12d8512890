// SPDX-License-Identifier: Apache-2.0

package listen_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"time"

	"sallyport/mgmt/internal/listen"
)

// failing is a listener whose first Accepts fail.
type failing struct {
	net.Listener
	failures int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.failures > 0 {
		f.failures--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

func open(t *testing.T, failures int) net.Listener {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listen.Steady(&failing{inner, failures}, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

// TestSteady: failures of Accept pass, and the connection behind them is accepted.
func TestSteady(t *testing.T) {
	listener := open(t, 3)
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// TestClosed: Close ends an Accept that fails again and again, and one that waits.
func TestClosed(t *testing.T) {
	for _, failures := range []int{0, 1 << 30} {
		listener := open(t, failures)
		time.AfterFunc(20*time.Millisecond, func() { listener.Close() })
		if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%d failures: %v", failures, err)
		}
	}
}
