// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
)

// modulesVariable names the folder that has the YANG modules: ietf-i2nsf-ikeless and -ikec of
// 2021-07-14, ietf-inet-types and ietf-yang-types of 2013-07-15, ietf-netconf-acm of 2018-02-14,
// each in NAME@REVISION.yang.
const modulesVariable = "SALLYPORT_YANG_MODULES"

// validator is libyang's yanglint with the real module.
func validator(t *testing.T) func(kind, text string) ([]byte, error) {
	t.Helper()
	folder := os.Getenv(modulesVariable)
	if folder == "" {
		t.Skip("no module of RFC 9061: set " + modulesVariable)
	}
	module := filepath.Join(folder, Module+"@2021-07-14.yang")
	yanglint, err := exec.LookPath("yanglint")
	if err != nil {
		t.Skip("no yanglint on this machine: it is in Debian's libyang2-tools")
	}
	return func(kind, text string) ([]byte, error) {
		path := filepath.Join(t.TempDir(), "document.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.Command(yanglint, "-p", folder, "-F", Module+":ikeless-notification", module, "-t", kind, path).CombinedOutput()
	}
}

// TestValid: libyang accepts, by the module of RFC 9061, each document that the tests load, the
// box's answer with and without state, and each notification.
func TestValid(t *testing.T) {
	validate := validator(t)
	accepts := func(name, kind, text string) {
		if output, err := validate(kind, text); err != nil {
			t.Errorf("%s: %s\n%s", name, output, text)
		}
	}
	documents := suites()
	for name, text := range variants {
		documents[name] = text
	}
	for name, text := range documents {
		accepts(name, "config", text)
		r := newRig(t, network)
		r.load(text)
		accepts("shown: "+name, "config", r.show())
		state, _, err := Show(t.Context(), r, true)
		r.must(err)
		accepts("shown with state: "+name, "data", string(state))
	}
	for name, e := range notified {
		line, err := notification(e, &current{1 << 40, 3})
		if err != nil || bytes.Count(line, []byte("\n")) != 1 {
			t.Errorf("%s: %v %q", name, err, line)
		}
		accepts(name, "notif", string(line))
	}
}

// TestInvalid: what libyang refuses is refused here.
func TestInvalid(t *testing.T) {
	validate := validator(t)
	for name, text := range invalid {
		if output, err := validate("config", text); err == nil {
			t.Errorf("libyang accepts %s: %s\n%s", name, output, text)
		}
		if _, err := read([]byte(text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for name, test := range refused {
		_, err := validate("config", test.text)
		if test.invalid != (err != nil) {
			t.Errorf("libyang on %s: %v", name, err)
		}
	}
}

// notified are events that the module has notifications for.
var notified = map[string]*sallyportv1.WatchResponse{
	"sadb-acquire":      {Event: "acquire", Src: "10.1.0.9", Dst: "10.2.0.9", Proto: "6", Sport: number(40000), Dport: number(443), Policy: "src 10.1.0.0/16 dst 10.2.0.0/16", Reqid: 1, Name: "spd/out"},
	"sadb-acquire, old": {Event: "acquire", Src: "2001:db8::9", Dst: "2001:db8:1::9", Proto: "58", Type: number(128), Code: number(0), Policy: "src 2001:db8::/64 dst 2001:db8:1::/64"},
	"sadb-expire":       {Event: "expire", Src: "192.0.2.1", Dst: "192.0.2.2", Proto: "esp", Spi: 4097, Reqid: 1, Dir: "out", Hard: flag(false), Limit: "bytes", Name: "out_4097"},
	"sadb-expire, hard": {Event: "expire", Src: "192.0.2.1", Dst: "192.0.2.2", Proto: "esp", Spi: 4097, Dir: "out", Hard: flag(true)},
	"sadb-seq-overflow": {Event: "sequence", Src: "192.0.2.1", Dst: "192.0.2.2", Proto: "esp", Spi: 4097, Dir: "out", Name: "out_4097"},
	"sadb-bad-spi":      {Event: "unknown_spi", Src: "203.0.113.9", Dst: "192.0.2.1", Proto: "esp", Spi: 47806, Dir: "in"},
}

func number(n uint32) *uint32 { return &n }
func flag(b bool) *bool       { return &b }
