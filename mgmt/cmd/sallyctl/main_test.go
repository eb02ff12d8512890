// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

const batch = `# both ways
addr add 192.0.2.1/24 dev black
xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 mode tunnel replay-window 64 \
  aead "rfc4106(gcm(aes))" 0x000102030405060708090a0b0c0d0e0fa0a1a2a3 128
xfrm policy add dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel
`

type world struct {
	t      *testing.T
	fake   *fakebox.Box
	dir    string
	socket string
}

func newWorld(t *testing.T) *world { return newWorldOf(t, fakebox.Small) }

func newWorldOf(t *testing.T, sizes fakebox.Sizes) *world {
	w := &world{t: t, fake: fakebox.New(sizes), dir: t.TempDir()}
	w.socket = filepath.Join(w.dir, "box0.sock")
	listener, err := net.Listen("unix", w.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go w.fake.Serve(listener)
	return w
}

func (w *world) file(name, text string) string {
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// run is one invocation: what it prints, and its exit status and sentence.
func run(args ...string) (code int, stdout, stderr, sentence string) {
	root := newRoot()
	var out, errs bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetIn(strings.NewReader(batch))
	root.SetArgs(normalFlags(args))
	if err := root.Execute(); err != nil {
		code, sentence = status(err), err.Error()
	}
	return code, out.String(), errs.String(), sentence
}

func TestBatch(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{
		{"--socket", w.socket, "-batch", w.file("b", strings.Replace(batch, "0x000102", "0xff0102", 1))},
		{"-batch", w.file("c", "xfrm state flush\nxfrm policy flush\naddr del 192.0.2.1/24 dev black\n"), "--socket", w.socket},
		{"--socket=" + w.socket, "-b", "-"},
	} {
		if code, _, errs, sentence := run(args...); code != 0 {
			t.Fatalf("%v: %d %s %s", args, code, errs, sentence)
		}
	}
	if len(w.fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)) != 1 {
		t.Error("the batch did not arrive")
	}
	code, out, _, _ := run("--socket", w.socket, "xfrm", "state", "list")
	if code != 0 || !strings.Contains(out, "<redacted>") || strings.Contains(out, "0001020304") {
		t.Errorf("list: %d\n%s", code, out)
	}
	if code, out, _, _ = run("--socket", w.socket, "x", "p", "count"); code != 0 || out != "\t SPD IN  0 OUT 1 FWD 0\n" {
		t.Errorf("count: %d %q", code, out)
	}
	for _, line := range []string{"xfrm policy add dst 2001:db8::/32 proto ipv6-icmp type 0 dir out", "xfrm policy list dst ::/0"} {
		code, out, _, _ = run(append([]string{"--socket", w.socket}, strings.Fields(line)...)...)
	}
	if code != 0 || out != "src ::/0 dst 2001:db8::/32 proto ipv6-icmp type 0 \n\tdir out index 17 priority 0 \n" {
		t.Errorf("list: %d %q", code, out)
	}
	if _, err := os.Stat(w.socket + ".state"); err != nil {
		t.Error(err)
	}
	code, _, _, _ = run("--socket", w.socket, "--state", filepath.Join(w.dir, "mine.json"), "next-hop", "default", "dev", "red", "lladdr", "02:00:00:00:00:01")
	if _, err := os.Stat(filepath.Join(w.dir, "mine.json")); code != 0 || err != nil {
		t.Errorf("--state: %d, %v", code, err)
	}
}

func TestExitStatus(t *testing.T) {
	w := newWorld(t)
	bad := w.file("bad", batch+"\nxfrm policy add dst 10.0.0.1/8 dir out\n")
	for _, test := range []struct {
		args     []string
		code     int
		sentence string
	}{
		{[]string{"--socket", w.socket, "-batch", bad}, 2, bad + ":7: the prefix after dst"},
		{[]string{"--socket", w.socket, "-batch", w.dir + "/none"}, 2, "cannot read " + w.dir + "/none: no such file"},
		{[]string{"--socket", w.socket, "xfrm", "frob"}, 2, "unknown word"},
		{[]string{"--socket", w.socket, "xfrm", "state", "delete", "dst", "1.2.3.4", "proto", "esp", "spi", "1"}, 2, "there is no SA"},
		{[]string{"--socket", w.socket, "frob"}, 2, "unknown command"},
		{[]string{"--socket", w.socket, "--frob"}, 2, "unknown flag"},
		{[]string{"xfrm", "state", "list"}, 2, "which box"},
		{[]string{"--socket", "a", "--pci", "b", "id"}, 2, "not both"},
		{[]string{"--socket", w.dir + "/none.sock", "id"}, 1, "none.sock"},
		{[]string{"--pci", "0000:ff:1f.7,0000:ff:1f.6,0000:ff:1f.5", "id"}, 1, "inner"},
		{[]string{"--pci", "0000:ff:1f.7", "id"}, 1, "crypto"},
		{[]string{"--pci", "0000:ff:1f.7,0000:ff:1f.6", "id"}, 2, "must name the crypto card, or all three"},
	} {
		code, _, _, sentence := run(test.args...)
		if code != test.code || !strings.Contains(sentence, test.sentence) || strings.Contains(sentence, "\n") {
			t.Errorf("%v: %d %q, want %d %q", test.args, code, sentence, test.code, test.sentence)
		}
	}
	if w.fake.Writes != 0 {
		t.Errorf("%d registers were written", w.fake.Writes)
	}
}

// TestUsage: -s as in iproute2, abbreviated too, and events.
func TestUsage(t *testing.T) {
	w := newWorld(t)
	if code, _, errs, sentence := run("--socket", w.socket, "-batch", w.file("b", batch)); code != 0 {
		t.Fatalf("%d %s %s", code, errs, sentence)
	}
	for _, flag := range []string{"-s", "-stats", "-statistics", "--statistics"} {
		for _, object := range []string{"state", "policy"} {
			code, out, _, sentence := run("--socket", w.socket, flag, "xfrm", object, "list")
			if code != 0 || !strings.Contains(out, "\tlifetime current:\n\t  0(bytes), 0(packets)\n") {
				t.Errorf("%s %s: %d %s\n%s", flag, object, code, sentence, out)
			}
		}
	}
	w.fake.Expire(1 << regs.InnerLifetimeEventBytes.LSB)
	for _, want := range []string{"Expired src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x00001001 reqid 0 dir out soft limit bytes\n", ""} {
		if code, out, _, sentence := run("--socket", w.socket, "events"); code != 0 || out != want {
			t.Errorf("events: %d %s %q", code, sentence, out)
		}
	}
}

// TestAudit: the log has what the chips tell of, and asks for no words.
func TestAudit(t *testing.T) {
	w := newWorld(t)
	inbound := "xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001 mode tunnel replay-window 64 aead \"rfc4106(gcm(aes))\" 0x000102030405060708090a0b0c0d0e0fa0a1a2a3 128\n"
	if code, _, errs, sentence := run("--socket", w.socket, "-batch", w.file("b", "addr add 192.0.2.1/24 dev black\n"+inbound)); code != 0 {
		t.Fatalf("%d %s %s", code, errs, sentence)
	}
	w.fake.Drop(0, regs.AuditReasonTooOld, 12)
	line := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z drop_too_old src 192\.0\.2\.2 dst 192\.0\.2\.1 proto esp spi 0x00002001 reqid 0 dir in seq 12 uptime 0\.000000000\n$`)
	if code, out, _, sentence := run("--socket", w.socket, "audit"); code != 0 || !line.MatchString(out) {
		t.Errorf("%d %s %q", code, sentence, out)
	}
	if code, out, _, sentence := run("--socket", w.socket, "audit"); code != 0 || out != "" {
		t.Errorf("%d %s %q", code, sentence, out)
	}
	if code, _, _, sentence := run("--socket", w.socket, "audit", "all"); code != 2 || sentence == "" {
		t.Errorf("audit all: %d %s", code, sentence)
	}
}

func TestCounters(t *testing.T) {
	w := newWorld(t)
	w.fake.Count(transport.Inner, "rx_frames", 5)
	w.fake.Count(transport.Inner, "tx_protect", 2)
	w.fake.Count(transport.Inner, "drop_policy", 1)
	w.fake.Count(transport.Inner, "reasm_held", 2)
	code, out, _, _ := run("--socket", w.socket, "counters", "--json", "--check")
	var document map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &document); err != nil || code != 0 {
		t.Fatalf("%d, %v\n%s", code, err, out)
	}
	var inner map[string]uint64
	var account struct {
		Balanced bool
		Paths    []map[string]any
	}
	if json.Unmarshal(document["inner"], &inner) != nil || json.Unmarshal(document["conservation"], &account) != nil {
		t.Fatal(out)
	}
	if inner["rx_frames"] != 5 || len(inner) != len(regs.InnerCounters) || !account.Balanced || len(account.Paths) != 6 {
		t.Errorf("inner %v, account %+v", inner, account)
	}
	w.fake.Count(transport.Crypto, "red_rx_packets", 4)
	code, _, errs, _ := run("--socket", w.socket, "counters", "--check")
	if code != 1 || errs != "crypto, encrypt path: received 4 + injected 0 + split 0 = 4, but sent 0 + punted 0 + dropped 0 + merged 0 + held 0 = 0\n" {
		t.Errorf("%d %q", code, errs)
	}
	if code, out, _, _ = run("--socket", w.socket, "counters"); code != 0 || !strings.Contains(out, "inner   encrypt  rx_frames") {
		t.Errorf("%d\n%s", code, out)
	}
}

func TestID(t *testing.T) {
	w := newWorld(t)
	code, out, _, _ := run("--socket", w.socket, "id", "--json")
	var document map[string]struct {
		Version      string
		Capabilities struct {
			FlowRows int `json:"flow_rows"`
			Suites   []string
		}
	}
	if err := json.Unmarshal([]byte(out), &document); err != nil || code != 0 {
		t.Fatal(err, out)
	}
	if document["outer"].Version != "0.1.0" || document["inner"].Capabilities.FlowRows != 64 || len(document["crypto"].Capabilities.Suites) != 14 {
		t.Errorf("%+v", document)
	}
	if code, out, _, _ = run("--socket", w.socket, "id"); code != 0 || !strings.Contains(out, "crypto  version 0.1.0") || !strings.Contains(out, " core 300 MHz\n") || !strings.Contains(out, "suites aes128gcm16 ") {
		t.Errorf("%d\n%s", code, out)
	}
}
