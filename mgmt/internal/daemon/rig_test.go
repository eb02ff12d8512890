// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/journal"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
)

const (
	keyOut = "000102030405060708090a0b0c0d0e0fa0a1a2a3"
	keyIn  = "101112131415161718191a1b1c1d1e1fb0b1b2b3"
)

// tunnel is a batch, a line each.
var tunnel = []string{
	"addr add 192.0.2.1/24 dev black",
	`xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel replay-window 64 aead "rfc4106(gcm(aes))" 0x` + keyOut + " 128",
	`xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001 reqid 1 mode tunnel replay-window 64 encap espinudp 4500 4500 0.0.0.0 aead "rfc4106(gcm(aes))" 0x` + keyIn + " 128",
	"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 7 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
	"xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir fwd tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel",
}

// asked is a UDP packet of one flow.
var asked = testbox.Asked

// rig is a fake box with a daemon, which can be killed and started again.
type rig struct {
	t      *testing.T
	fake   *fakebox.Box
	dir    string
	path   string
	daemon *Daemon
	log    *testbox.Log
	end    func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newSizedRig(t, 0)
}

// newSizedRig has a tree of so many leaves, as log2; 0: none.
func newSizedRig(t *testing.T, prefixBits uint32) *rig {
	t.Helper()
	sizes := fakebox.Small
	sizes.PrefixBits = prefixBits
	return newRigOf(t, sizes)
}

func newRigOf(t *testing.T, sizes fakebox.Sizes) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, fake: fakebox.New(sizes), dir: dir, path: filepath.Join(dir, "c.sock"), log: &testbox.Log{}}
	r.start()
	t.Cleanup(func() { r.end() })
	return r
}

// start makes a daemon as it is after a boot or a crash: it knows what the chips and the state
// file say.
func (r *rig) start() {
	r.t.Helper()
	b, err := chip.Open(r.t.Context(), r.fake)
	if err != nil {
		r.t.Fatal(err)
	}
	session := &session.Session{Box: b, StatePath: filepath.Join(r.dir, "state.json")}
	if err := session.Hold(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	if r.daemon, err = New(session, journal.New(r.log, slog.LevelDebug, true), "1.2.3"); err != nil {
		r.t.Fatal(err)
	}
	listener, err := net.Listen("unix", r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.daemon.Serve(ctx, listener) }()
	r.end = func() {
		cancel()
		if err := <-served; err != nil {
			r.t.Errorf("Serve: %v", err)
		}
		if err := r.daemon.Close(); err != nil {
			r.t.Errorf("Close: %v", err)
		}
	}
}

// otherKey is a line with another outbound key, for one that was used is refused.
func otherKey(line string) string { return strings.Replace(line, "0x000102", "0xff0102", 1) }

func (r *rig) restart() {
	r.t.Helper()
	r.end()
	r.start()
}

// line is one connection of raw lines.
type line struct {
	t       *testing.T
	conn    net.Conn
	answers *bufio.Reader
}

func (r *rig) dial() *line {
	r.t.Helper()
	conn, err := net.Dial("unix", r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &line{r.t, conn, bufio.NewReader(conn)}
}

// ask sends a line and gives the answer's.
func (l *line) ask(text string) string {
	l.t.Helper()
	fmt.Fprintln(l.conn, text)
	return l.next()
}

func (l *line) next() string {
	l.t.Helper()
	text, err := l.answers.ReadString('\n')
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.TrimSuffix(text, "\n")
}

// batch is the line of a batch request.
func batch(lines ...string) string {
	text, _ := json.Marshal(map[string]any{"id": 1, "do": control.DoBatch, "lines": lines})
	return string(text)
}

// must loads a batch.
func (r *rig) must(lines ...string) {
	r.t.Helper()
	if answer := r.dial().ask(batch(lines...)); !strings.HasPrefix(answer, `{"id":1,"ok":true,`) {
		r.t.Fatal(answer)
	}
}

// get is the answer to a request, whose fields are text, as JSON.
func (r *rig) get(do, fields string) map[string]any {
	r.t.Helper()
	answer := map[string]any{}
	text := r.dial().ask(fmt.Sprintf(`{"id":9,"do":%q%s}`, do, fields))
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		r.t.Fatal(err, text)
	}
	return answer
}

// same compares, as text.
func (r *rig) same(what string, got, want any) {
	r.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Errorf("%s: %v, want %v", what, got, want)
	}
}
