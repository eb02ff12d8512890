// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/config"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sallyportd.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	c, commands, err := config.Load(write(t, `registers = "unix:/run/sim/box0.sock"`))
	if err != nil || commands != nil {
		t.Fatal(err, commands)
	}
	if c.Registers.Socket != "/run/sim/box0.sock" || c.Control.Path.Name != "/run/sallyport/control.sock" || !c.Metrics.Listen.Addr().IsLoopback() ||
		c.Events.Poll.Duration != 100*time.Millisecond || c.Log.Level.String() != "INFO" {
		t.Errorf("%+v", c)
	}
}

func TestAll(t *testing.T) {
	batch := filepath.Join(t.TempDir(), "initial")
	if err := os.WriteFile(batch, []byte("addr add 192.0.2.1/24 dev black\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, commands, err := config.Load(write(t, `registers = "pci:17:0,18:0,19:0"
state = "/run/s.json"
initial_batch = "`+batch+`"
[control]
path = "/run/c.sock"
group = "root"
[events]
poll = "1s"
[metrics]
listen = ""
sas = 7
[log]
level = "debug"
`))
	if err != nil || len(commands) != 1 {
		t.Fatal(err, commands)
	}
	gid, err := c.Control.Group.GID()
	if c.Registers.PCI != "17:0,18:0,19:0" || c.State.Name != "/run/s.json" || gid != 0 || err != nil || c.Metrics.Listen.IsValid() || c.Metrics.SAs != 7 || c.Log.Level.String() != "DEBUG" {
		t.Errorf("%+v", c)
	}
}

// TestTaps: none, or one for each port, and any for XFRM interfaces.
func TestTaps(t *testing.T) {
	c, _, err := config.Load(write(t, `registers = "unix:/run/sim/box0.sock"`))
	if err != nil || c.Taps.Wanted() {
		t.Errorf("%+v, %v", c, err)
	}
	for _, registers := range []string{"unix:/s", "pci:0000:17:00.0"} {
		c, _, err = config.Load(write(t, "registers = \""+registers+"\"\n[taps]\nred = \"sp-red\"\nblack = \"sp-black\"\ntunnels = \"sp-vpn\"\nxfrm = [\"ipsec0\", \"ipsec1\"]"))
		if err != nil || !c.Taps.Wanted() || c.Taps.Red.Name != "sp-red" || c.Taps.Black.Name != "sp-black" || c.Taps.Tunnels.Name != "sp-vpn" || !slices.Equal(c.Taps.Interfaces(), []string{"ipsec0", "ipsec1"}) {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// TestErrors: each mistake is one sentence with its line.
func TestErrors(t *testing.T) {
	const ok = `registers = "unix:/s"` + "\n"
	for text, want := range map[string]string{
		"":                                         ":1: registers = \"…\" is missing",
		`registers = "tcp:1"`:                      `:1: "tcp:1" must be unix:PATH`,
		`registers = "pci:1,2"`:                    `:1: "1,2" must name the crypto card, or all three`,
		"registers = 1":                            ":1: ",
		ok + "frob = 1":                            `:2: there is no key "frob"`,
		ok + "[control]\npath = \"c.sock\"":        `:3: "c.sock" is not an absolute path`,
		ok + "[control]\n\ngroup = \"no-such\"":    `:4: there is no group "no-such"`,
		ok + "[control]\nmode = \"0666\"":          `:3: there is no key "control.mode"`,
		ok + "[events]\npoll = \"1\"":              `:3: "1" is no time from 1ms to 10s`,
		ok + "[events]\npoll = \"1m\"":             `:3: "1m" is no time`,
		ok + "[icmp]\npath_mtu_age = \"4m59s\"":    `:3: "4m59s" is no time from 5m to 24h, such as 10m`,
		ok + "[icmp]\npath_mtu_age = \"24h1s\"":    `:3: "24h1s" is no time from 5m to 24h`,
		ok + "[icmp]\npath_mtu = 1":                ":3: ",
		ok + "[metrics]\nlisten = \"localhost:1\"": `:3: "localhost:1" is no ADDRESS:PORT`,
		ok + "[metrics]\n\nsas = 131073":           `:4: sas must be 0 to 131072, which the largest box holds`,
		ok + "[metrics]\nsas = -1":                 `:3: sas must be 0 to 131072`,
		ok + "[log]\nlevel = \"loud\"":             `:3: "loud" must be debug`,
		ok + "[log\n":                              ":2: ",
		ok + "[taps]\nred = \"a b\"":               `:3: "a b" cannot be the name of a device`,
		ok + "[taps]\nred = \"\"":                  `:3: "" cannot be the name of a device`,
		ok + "[taps]\n\nred = \"a\"\n":             ":4: taps needs both red and black",
		ok + "[taps]\nxfrm = [\"a\"]\n":            ":3: taps needs both red and black",
		ok + "[taps]\nred = \"a\"\nblack = \"b\"\nxfrm = [\"c\", \"b\"]\n": `:5: the device of an XFRM interface cannot be "b", which is another's`,
		ok + "[taps]\nred = \"a\"\nblack = \"b\"\nxfrm = [\"red\"]\n":      `:5: the device of an XFRM interface cannot be "red", which is the name of a port`,
		ok + "[taps]\nred = \"a\"\nblack = \"b\"\nxfrm = [\"a b\"]\n":      `:5: "a b" cannot be the name of a device`,
		ok + "[taps]\nred = \"a\"\nblack = \"a\"\n":                        `:4: the devices of red and black cannot both be "a"`,
		ok + "[taps]\ntunnels = \"a\"\n":                                   ":3: taps needs both red and black",
		ok + "[taps]\nred = \"a\"\nblack = \"b\"\ntunnels = \"b\"\n":       `:5: the device of tunnels cannot be "b", which is a port's`,
		ok + "[frob]\nx = 1":                `:2: there is no key "frob"`,
		ok + ok:                             ":2: ",
		ok + "initial_batch = \"/no/such\"": "cannot read the initial batch /no/such: no such file",
		ok + "[events]\npoll = 100":         ":3: ",
		"# nothing\n\n[log]\nlevel = \"info\"\nlevel = 1": ":5: ",
	} {
		path := write(t, text)
		_, _, err := config.Load(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if err != nil && strings.HasPrefix(want, ":") && !strings.HasPrefix(err.Error(), path+":") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestPackaged: the file of the package is right, and says what the defaults are.
func TestPackaged(t *testing.T) {
	c, _, err := config.Load("../../packaging/sallyportd.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Registers = c.Registers
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, want the defaults %+v", c, want)
	}
}

// TestInitialBatch: one that others may read or write is refused, and so is one with an SA that is
// outbound by its own words.
func TestInitialBatch(t *testing.T) {
	const out = "xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 mode tunnel dir out aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0fa0a1a2a3 128\n"
	for _, test := range []struct {
		text, reason string
		mode         os.FileMode
	}{
		{"addr add 192.0.2.1/24 dev black\n", "", 0o640},
		{"addr add 192.0.2.1/24 dev black\n", "has mode 0644, but it may hold keys and others may not have it: chmod o= it", 0o644},
		{"addr add 192.0.2.1/24 dev black\n", "has mode 0602", 0o602},
		{"\n" + out, ":2: the initial batch cannot hold the outbound SA spi 0x1001", 0o600},
		{strings.Replace(out, "dir out", "dir in", 1), "", 0o600},
	} {
		batch := filepath.Join(t.TempDir(), "initial")
		if err := os.WriteFile(batch, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(batch, test.mode); err != nil {
			t.Fatal(err)
		}
		_, _, err := config.Load(write(t, "registers = \"unix:/s\"\ninitial_batch = \""+batch+"\"\n"))
		if test.reason == "" && err != nil || test.reason != "" && (err == nil || !strings.Contains(err.Error(), test.reason)) {
			t.Errorf("%04o: %v, want %q", test.mode, err, test.reason)
		}
	}
}
