package place_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/mgmt/internal/place"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"unix:/run/sim/box0.sock":      "",
		"pci:0000:17:00.0,18:0,19:0":   "",
		"unix:box0.sock":               "is not absolute",
		"pci:0000:17:00.0,0000:18:0.0": "must name three cards",
		"tcp:127.0.0.1:1":              "must be unix:PATH",
		"":                             "must be unix:PATH",
	} {
		_, err := place.Parse(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	p, _ := place.Parse("pci:0000:17:00.0,/dev/x,y")
	if p.State() != "/run/sallyport/0000:17:00.0--dev-x-y.state.json" {
		t.Error(p.State())
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
