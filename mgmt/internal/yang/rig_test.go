// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/api/client"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/api"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/session"
)

// network is what the box of the tests has around its tunnels.
const network = "addr add 192.0.2.1/24 dev black\naddr add 2001:db8::1/64 dev black\nneigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black\n"

// rig is a client of a daemon that has a fake box.
type rig struct {
	*testing.T
	*client.Client
}

func newRig(t *testing.T, setup string) *rig {
	t.Helper()
	dir, log := t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil))
	r := &rig{T: t}
	chips, err := chip.Open(t.Context(), fakebox.New(fakebox.Small))
	r.must(err)
	s := &session.Session{Box: chips, StatePath: filepath.Join(dir, "state"), Out: io.Discard, Notes: io.Discard}
	r.must(s.Hold(t.Context()))
	d, err := daemon.New(s, log, "test")
	r.must(err)
	server, err := api.New(d, log, "test")
	r.must(err)
	path := filepath.Join(dir, "api.sock")
	listener, err := net.Listen("unix", path)
	r.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- server.Serve(ctx, listener, false) }()
	r.Client = client.Dial(path)
	t.Cleanup(func() {
		r.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		d.Close()
	})
	r.batch(setup)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// batch carries lines out, which may hold keys.
func (r *rig) batch(lines string) {
	r.Helper()
	_, err := r.SealedBatch(r.Context(), "f", []byte(lines))
	r.must(err)
}

// load loads a document. Its policies may have no SA yet.
func (r *rig) load(text string) {
	r.Helper()
	notes, err := Load(r.Context(), r, []byte(text))
	notes = slices.DeleteFunc(notes, func(note string) bool { return strings.Contains(note, "bound SA fits the tmpl") })
	if err != nil || len(notes) > 0 {
		r.Fatalf("%v %q\n%s", err, notes, text)
	}
}

// show is the box's document; everything of it can be said.
func (r *rig) show() string {
	r.Helper()
	text, leftOut, err := Show(r.Context(), r, false)
	r.must(err)
	if len(leftOut) > 0 {
		r.Error(leftOut)
	}
	return string(text)
}

// policies is what the box says of its policies.
func (r *rig) policies() string {
	r.Helper()
	answer, err := r.Command(r.Context(), &sallyportv1.CommandRequest{Words: []string{"xfrm", "policy", "list"}})
	r.must(err)
	return answer.Output
}

// spdText is an spd-entry of a tunnel between 192.0.2.1, the box, and 192.0.2.2.
func spdText(name, direction, local, remote, more string) string {
	ends := `"local":"192.0.2.1","remote":"192.0.2.2"`
	if direction == "inbound" {
		ends = `"local":"192.0.2.2","remote":"192.0.2.1"`
	}
	return fmt.Sprintf(`{"name":"%s","direction":"%s","reqid":"1","ipsec-policy-config":{"traffic-selector":{"local-prefix":"%s","remote-prefix":"%s"%s},`+
		`"processing-info":{"action":"protect","ipsec-sa-cfg":{"mode":"tunnel","tunnel":{%s}}}}}`, name, direction, local, remote, more, ends)
}

// sadText is an outbound sad-entry of the same tunnel. A key of GCM is its esp-sa if none is given.
func sadText(name string, spi int, esp, more string) string {
	if esp == "" {
		esp = fmt.Sprintf(`"encryption":{"encryption-algorithm":20,"key":"%s"}`, hexKey(20, byte(spi>>8^spi)))
	}
	return fmt.Sprintf(`{"name":"%s","reqid":"1","ipsec-sa-config":{"spi":%d,"traffic-selector":{"local-prefix":"10.1.0.0/16","remote-prefix":"10.2.0.0/16"},`+
		`"mode":"tunnel","tunnel":{"local":"192.0.2.1","remote":"192.0.2.2"%s},"esp-sa":{%s}}}`, name, spi, more, esp)
}

// inward turns an outbound sad-entry round.
func inward(sad string) string {
	return strings.NewReplacer("10.1.0.0", "10.2.0.0", "10.2.0.0", "10.1.0.0", "192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.1").Replace(sad)
}

func documentText(spd, sad []string) string {
	return fmt.Sprintf(`{"ietf-i2nsf-ikeless:ipsec-ikeless":{"spd":{"spd-entry":[%s]},"sad":{"sad-entry":[%s]}}}`, strings.Join(spd, ","), strings.Join(sad, ","))
}

// hexKey is a key of some bytes in the module's form, a different one for each seed.
func hexKey(bytes int, seed byte) string {
	var parts []string
	for i := range bytes {
		parts = append(parts, fmt.Sprintf("%02x", seed*31+byte(i)*7+1))
	}
	return strings.Join(parts, ":")
}

// outbound and inbound are policies of the tunnel.
var (
	outbound = spdText("spd/out", "outbound", "10.1.0.0/16", "10.2.0.0/16", "")
	inbound  = spdText("spd/in", "inbound", "10.2.0.0/16", "10.1.0.0/16", "")
	both     = documentText([]string{outbound, inbound}, []string{sadText("out_4097", 4097, "", ""), inward(sadText("in_8193", 8193, "", ""))})
)
