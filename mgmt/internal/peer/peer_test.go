package peer_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/xfrm"
)

var secret = []byte("thirty-two bytes that both know.")

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// TestReport: what one says is what the other hears, each time it asks; somebody who says nothing holds up nobody for long.
func TestReport(t *testing.T) {
	id := xfrm.ID{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("2001:db8::1"), Proto: "esp", SPI: 7}
	said := peer.Report{Side: peer.SideB, Active: true, Numbers: []peer.Number{{ID: id, Dir: xfrm.DirOut, Number: 1<<63 - 1}}}
	listener := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() {
		served <- peer.Serve(ctx, listener, time.Second, secret, func() (peer.Report, error) { return said, nil })
	}()
	silent, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for range 3 {
		heard, err := peer.Ask(ctx, listener.Addr().String(), secret)
		if err != nil || !reflect.DeepEqual(heard, said) {
			t.Errorf("heard %+v, %v", heard, err)
		}
		said.Numbers[0].Number--
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// answers has somebody at a listener answer each question as `with` says.
func answers(listener net.Listener, with func(question []byte) []byte) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		question := make([]byte, 32)
		if _, err := io.ReadFull(conn, question); err == nil {
			_, _ = conn.Write(with(question))
		}
		conn.Close()
	}
}

func tagged(secret, question []byte, text string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(question)
	mac.Write([]byte(text))
	return append(mac.Sum(nil), text...)
}

// TestNoReport: nobody there, nothing said, no JSON, no side, somebody else, an old answer, and a box that cannot say.
func TestNoReport(t *testing.T) {
	const stranger, well = "is not of the other box", `{"side":"a"}`
	old := make([]byte, 32)
	for _, c := range []struct {
		want string
		with func(question []byte) []byte
	}{
		{stranger, func([]byte) []byte { return nil }},
		{stranger, func([]byte) []byte { return []byte(well) }},
		{stranger, func(q []byte) []byte { return tagged([]byte("another secret"), q, well) }},
		{stranger, func([]byte) []byte { return tagged(secret, old, well) }},
		{stranger, func(q []byte) []byte { return append(tagged(secret, q, well), ' ') }},
		{"invalid character", func(q []byte) []byte { return tagged(secret, q, "hello") }},
		{`its side is "c"`, func(q []byte) []byte { return tagged(secret, q, `{"side":"c"}`) }},
	} {
		listener := listen(t)
		go answers(listener, c.with)
		if _, err := peer.Ask(context.Background(), listener.Addr().String(), secret); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("gave %v, want %s", err, c.want)
		}
		listener.Close()
		if _, err := peer.Ask(context.Background(), listener.Addr().String(), secret); err == nil {
			t.Error("nobody was there")
		}
	}
	listener, broken := listen(t), errors.New("no chips")
	go func() { _, _ = peer.Ask(context.Background(), listener.Addr().String(), secret) }()
	if err := peer.Serve(context.Background(), listener, time.Second, secret, func() (peer.Report, error) { return peer.Report{}, broken }); !errors.Is(err, broken) {
		t.Errorf("gave %v", err)
	}
}

// TestIVMask: no number of one side gives an IV of the other.
func TestIVMask(t *testing.T) {
	for _, number := range []uint64{0, 1, xfrm.MaxNumber} {
		if a, b := number^peer.SideA.IVMask(), number^peer.SideB.IVMask(); a>>63 != 0 || b>>63 != 1 {
			t.Errorf("%d: %x, %x", number, a, b)
		}
	}
}
