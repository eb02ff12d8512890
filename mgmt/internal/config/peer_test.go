package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/mgmt/internal/config"
	"sallyport/mgmt/internal/peer"
)

// TestPeer: a box is alone, or one of a pair with all that it takes.
func TestPeer(t *testing.T) {
	folder := t.TempDir()
	file := func(name string, bytes int, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, make([]byte, bytes), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, short, open := file("good", 32, 0o640), file("short", 31, 0o600), file("open", 32, 0o604)
	secret := func(path string) string { return "secret = \"" + path + "\"\n" }
	const ok, between = "registers = \"unix:/s\"\n[peer]\n", "listen = \"10.0.0.1:1\"\nconnect = \"10.0.0.2:1\"\n"
	both := secret(good) + between
	if c, _, err := config.Load(write(t, ok)); err != nil || c.Peer.Wanted() {
		t.Errorf("%+v, %v", c, err)
	}
	c, _, err := config.Load(write(t, ok+"side = \"b\"\n"+both))
	if err != nil || c.Peer.Side.Side != peer.SideB || c.Peer.Rate != 150_000_000 || len(c.Peer.Secret.Value) != 32 || c.Peer.Connect.String() != "10.0.0.2:1" {
		t.Errorf("%+v, %v", c, err)
	}
	for text, want := range map[string]string{
		between + "side = \"a\"":                 ":5: peer needs the secret",
		secret("good"):                           `:3: "good" is not an absolute path`,
		secret(folder + "/none"):                 ":3: cannot read the secret " + folder + "/none: no such file",
		secret(short):                            ":3: the secret " + short + " has 31 bytes, and needs 32",
		secret(open):                             ":3: everybody may reach the secret " + open + ": chmod o= ",
		"side = \"c\"":                           `:3: "c" must be "a" or "b"`,
		both:                                     `:3: peer needs its side`,
		"side = \"a\"\nlisten = \"10.0.0.1:1\"":  ":3: peer needs both listen and connect",
		both + "side = \"a\"\ninterval = \"5s\"": ":7: dead_after must be at least twice the interval of 5s",
		both + "side = \"a\"\npackets_per_second = 0":                         ":7: packets_per_second must be 1 to 150000000",
		both + "side = \"a\"\n\npackets_per_second = 150000001":               ":8: packets_per_second must be 1 to 150000000",
		both + "side = \"a\"\npreempt = true":                                 `:7: there is no key "peer.preempt"`,
		"side = \"a\"\nlisten = \"peer.example:1\"\nconnect = \"10.0.0.2:1\"": `:4: "peer.example:1" is no ADDRESS:PORT`,
	} {
		if _, _, err := config.Load(write(t, ok+text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
