// SPDX-License-Identifier: Apache-2.0

package mesh

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/mutual"
	"sallyport/mgmt/internal/testbox"
)

const patience = 20 * time.Second

// place is a mesh at an address.
type place struct {
	*Mesh
	address string
	out     testbox.Log
}

// two makes the meshes of two nodes that trust one authority.
func two(t *testing.T, answer Answer) (a, b *place) {
	t.Helper()
	folder := t.TempDir()
	authority := certtest.NewAuthority(t, folder, "authority")
	make := func(slot int, name string) *place {
		authority.Sign(t, folder, name)
		own, err := mutual.ReadAnyCertificates(filepath.Join(folder, name+".pem"))
		must(t, err)
		key, err := mutual.ReadKey(filepath.Join(folder, name+".key"))
		must(t, err)
		trust, err := mutual.ReadAnyCertificates(filepath.Join(folder, "authority.pem"))
		must(t, err)
		identity, err := mutual.New(own, key, trust)
		must(t, err)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		ctx, end := context.WithCancel(context.Background())
		t.Cleanup(end)
		p := &place{address: listener.Addr().String()}
		p.Mesh = New(ctx, listener, Rules{
			Identity: func() *mutual.Identity { return identity }, Hello: func() Hello { return Hello{Version: Version, Slot: slot, ID: name, Name: name} },
			Admits: func(Hello) error { return nil }, Answer: answer, Timeout: time.Second, Log: slog.New(slog.NewTextHandler(&p.out, nil)),
		})
		return p
	}
	return make(0, "box-0"), make(1, "box-1")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func echo(_ context.Context, from Hello, method string, body json.RawMessage) (any, error) {
	if method == "fail" {
		return nil, errors.New("no\nand \x1b[2J no")
	}
	return map[string]string{"from": from.Name, "said": string(body)}, nil
}

// TestCalls: a question has its answer, or the sentence of the other node.
func TestCalls(t *testing.T) {
	a, b := two(t, echo)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for range 20 {
		var answer map[string]string
		must(t, a.Call(ctx, b.address, "say", "hello", &answer))
		if answer["from"] != "box-0" || answer["said"] != `"hello"` {
			t.Errorf("%v", answer)
		}
	}
	var refusal *Refusal
	if err := a.Call(ctx, b.address, "fail", 1, nil); !errors.As(err, &refusal) || refusal.Why != "no and [2J no" {
		t.Error(err)
	}
	if err := a.Call(ctx, a.address, "say", 1, nil); !IsSelf(err) {
		t.Error(err)
	}
	if err := a.Call(ctx, b.address, "say", strings.Repeat("x", mostCall), nil); err == nil {
		t.Error("a question is longer than it may be")
	}
	late, now := context.WithCancel(ctx)
	now()
	if err := a.Call(late, b.address, "say", 1, nil); err == nil {
		t.Error("a call goes on behind its end")
	}
	a.CloseIdle()
	must(t, a.Call(ctx, b.address, "say", 1, &map[string]string{}))
}

// TestPackets: packets arrive, and those for a node that is not there are lost without an error.
func TestPackets(t *testing.T) {
	a, b := two(t, echo)
	got := make(chan string, mostQueued)
	b.NewPost(func(packet []byte, _ net.Addr) { got <- string(packet) })
	post := a.NewPost(func([]byte, net.Addr) {})
	for range mostQueued / 2 {
		must(t, post.Send([]byte("packet"), b.address))
	}
	for range mostQueued / 2 {
		select {
		case packet := <-got:
			if packet != "packet" {
				t.Errorf("%q", packet)
			}
		case <-time.After(patience):
			t.Fatal("a packet does not come")
		}
	}
	for range 3 * mostQueued {
		must(t, post.Send([]byte("lost"), "127.0.0.1:1"))
	}
	for n := range mostSenders {
		_ = post.Send([]byte("lost"), net.JoinHostPort("127.0.0.1", string(rune('a'+n%26))+"x"))
	}
}

// TestFlood: connections that say nothing or nonsense, with and without a certificate, end and keep
// no node from asking.
func TestFlood(t *testing.T) {
	a, b := two(t, echo)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	garbage := make([]byte, 1<<12)
	_, _ = rand.Read(garbage)
	var flood []net.Conn
	for n := range 200 {
		conn, err := net.Dial("tcp", b.address)
		must(t, err)
		defer conn.Close()
		if n%2 == 0 {
			_, _ = conn.Write(garbage)
		}
		flood = append(flood, conn)
	}
	for n := range 30 {
		conn, err := a.connect(ctx, b.address, a.rules.Identity())
		must(t, err)
		defer conn.Close()
		if n%3 == 0 {
			_, _ = conn.Write(garbage)
		}
		flood = append(flood, conn)
	}
	must(t, a.Call(ctx, b.address, "say", 1, &map[string]string{}))
	for n, conn := range flood {
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, err := io.Copy(io.Discard, conn)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Fatalf("connection %d stays open", n)
		}
	}
}
