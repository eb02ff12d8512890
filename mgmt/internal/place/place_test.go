// SPDX-License-Identifier: Apache-2.0

package place_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/mgmt/internal/place"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"unix:/run/sim/box0.sock":      "",
		"pci:0000:17:00.0":             "",
		"pci:0000:17:00.0,18:0,19:0":   "",
		"unix:box0.sock":               "is not absolute",
		"pci:":                         "must name the crypto card, or all three",
		"pci:0000:17:00.0,0000:18:0.0": "must name the crypto card, or all three",
		"pci:17:0,18:0,19:0,20:0":      "must name the crypto card, or all three",
		"pci:17:0,,19:0":               "must name the crypto card, or all three",
		"tcp:127.0.0.1:1":              "must be unix:PATH",
		"":                             "must be unix:PATH",
	} {
		_, err := place.Parse(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestState: a box is the same however its cards are named.
func TestState(t *testing.T) {
	for text, want := range map[string]string{
		"pci:0000:18:00.0":                           "/run/sallyport/0000:18:00.0.state",
		"pci:0000:17:00.0,0000:18:00.0,0000:19:00.0": "/run/sallyport/0000:18:00.0.state",
		"pci:/dev/x":                                 "/run/sallyport/-dev-x.state",
		"unix:/s":                                    "/s.state",
	} {
		if p, err := place.Parse(text); err != nil || p.State() != want {
			t.Errorf("%q: %s, %v", text, p.State(), err)
		}
	}
}

// TestOpen: cards are looked at before anybody drives them, unless somebody asks for them as
// they are.
func TestOpen(t *testing.T) {
	bar := filepath.Join(t.TempDir(), "resource0")
	if err := os.WriteFile(bar, bytes.Repeat([]byte{1}, 512<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	p := place.Place{PCI: bar}
	if _, err := p.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "the inner card has no bitstream of Sallyport") {
		t.Errorf("another device: %v", err)
	}
	opened, err := p.OpenUnchecked(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	for _, wrong := range []place.Place{{PCI: bar + "," + bar}, {PCI: bar, Socket: "/s"}} {
		if _, err := wrong.Open(t.Context()); err == nil {
			t.Errorf("%+v was opened", wrong)
		}
	}
}

// TestClaim: a daemon and others never have a box at once; others share it.
func TestClaim(t *testing.T) {
	p := place.Place{Socket: filepath.Join(t.TempDir(), "box0.sock")}
	first, err := p.Share()
	if err != nil {
		t.Fatal(err)
	}
	second, err := p.Share()
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	second.Close()
	daemon, err := p.Claim("/run/here.sock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Share(); !errors.Is(err, place.ErrHeld) || !strings.Contains(err.Error(), "--daemon /run/here.sock,") {
		t.Errorf("shared with a daemon: %v", err)
	}
	daemon.Close()
	third, err := p.Share()
	if err != nil {
		t.Fatal(err)
	}
	third.Close()
}
