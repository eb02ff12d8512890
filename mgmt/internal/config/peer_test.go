// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/config"
	"sallyport/mgmt/internal/peer"
)

// TestPeer: a box is alone, or one of a pair with all that it takes. A mistake is one sentence with
// its line.
func TestPeer(t *testing.T) {
	folder := t.TempDir()
	certtest.Write(t, folder, "box-a", time.Hour)
	certtest.Write(t, folder, "box-b", time.Hour)
	certtest.Write(t, folder, "old", -time.Minute)
	file := func(name string) string { return filepath.Join(folder, name) }
	open := file("open.key")
	text, err := os.ReadFile(file("box-a.key"))
	if err == nil {
		err = os.WriteFile(open, text, 0o604)
	}
	if err != nil {
		t.Fatal(err)
	}
	key := func(word, path string) string { return word + " = \"" + path + "\"\n" }
	const ok, between = "registers = \"unix:/s\"\n[peer]\n", "listen = \"10.0.0.1:1\"\nconnect = \"10.0.0.2:1\"\n"
	own := key("certificate", file("box-a.pem")) + key("key", file("box-a.key"))
	other := key("trust", file("box-b.pem")) + "name = \"box-b\"\n"
	all := own + other + between // 6 lines, from the third on
	if c, _, err := config.Load(write(t, ok)); err != nil || c.Peer.Wanted() {
		t.Errorf("%+v, %v", c, err)
	}
	c, _, err := config.Load(write(t, ok+"side = \"b\"\n"+all))
	if err != nil || c.Peer.Side.Side != peer.SideB || c.Peer.Rate != 150_000_000 || c.Peer.Connect.String() != "10.0.0.2:1" {
		t.Errorf("%+v, %v", c, err)
	}
	// The clock may not be set yet, so Load accepts the file, and --check-config refuses it.
	late, _, err := config.Load(write(t, ok+"side = \"b\"\n"+own+key("trust", file("old.pem"))+"name = \"box-b\"\n"+between))
	if err != nil || c.Peer.InTime() != nil {
		t.Fatal(err, c.Peer.InTime())
	}
	if err := late.Peer.InTime(); err == nil || !strings.Contains(err.Error(), "the certificate "+file("old.pem")+" expired on ") {
		t.Error(err)
	}
	for text, want := range map[string]string{
		between + "side = \"a\"":              ":5: peer needs certificate, key, trust and name",
		key("key", "good"):                    `:3: "good" is not an absolute path`,
		key("key", file("none")):              ":3: cannot read the key " + file("none") + ": no such file",
		key("key", open):                      ":3: everybody may reach the key " + open + ": chmod o= ",
		key("key", file("box-a.pem")):         ":3: " + file("box-a.pem") + " holds no private key",
		key("certificate", file("none")):      ":3: cannot read the certificate " + file("none") + ": no such file",
		key("certificate", file("box-a.key")): ":3: " + file("box-a.key") + " holds no certificate",
		key("certificate", file("box-b.pem")) + key("key", file("box-a.key")) + other + between + "side = \"a\"": "certificate and key do not belong together",
		own + key("trust", file("box-a.pem")) + "name = \"box-a\"\n" + between + "side = \"a\"":                  `the own certificate has the name "box-a"`,
		"side = \"c\"":                          `:3: "c" must be "a" or "b"`,
		all:                                     `:3: peer needs its side`,
		"side = \"a\"\nlisten = \"10.0.0.1:1\"": ":3: peer needs both listen and connect",
		all + "side = \"a\"\ninterval = \"5s\"": ":10: dead_after must be at least twice the interval of 5s",
		all + "side = \"a\"\npackets_per_second = 0":                          ":10: packets_per_second must be 1 to 150000000",
		all + "side = \"a\"\n\npackets_per_second = 150000001":                ":11: packets_per_second must be 1 to 150000000",
		all + "side = \"a\"\npreempt = true":                                  `:10: there is no key "peer.preempt"`,
		all + "side = \"a\"\nsecret = \"/etc/sallyport/peer.secret\"":         `:10: there is no key "peer.secret"`,
		all + "side = \"a\"\nfence = \"fence\"":                               `:10: "fence" is not an absolute path`,
		"side = \"a\"\nlisten = \"peer.example:1\"\nconnect = \"10.0.0.2:1\"": `:4: "peer.example:1" is no ADDRESS:PORT`,
	} {
		if _, _, err := config.Load(write(t, ok+text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
