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
)

// TestAPI: no other machine reaches the API unless an address is given with all that it takes. A
// mistake is one sentence with its line.
func TestAPI(t *testing.T) {
	folder := t.TempDir()
	for name, valid := range map[string]time.Duration{"box-a": time.Hour, "box-b": time.Hour, "old": -time.Minute} {
		certtest.Write(t, folder, name, valid)
	}
	text, err := os.ReadFile(filepath.Join(folder, "box-a.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "open.key"), text, 0o604)
	}
	if err != nil {
		t.Fatal(err)
	}
	const ok = "registers = \"unix:/s\"\n[api]\n"
	const files = "certificate = \"F/box-a.pem\"\nkey = \"F/box-a.key\"\ntrust = \"F/box-b.pem\"\n"
	load := func(text string) (*config.Config, error) {
		c, _, err := config.Load(write(t, ok+strings.ReplaceAll(text, "F/", folder+"/")))
		return c, err
	}
	if c, err := load(""); err != nil || c.API.Wanted() {
		t.Errorf("%v", err)
	}
	for _, address := range []string{"10.0.0.1:1024", "127.0.0.1:65535", "[2001:db8::1]:4555"} {
		c, err := load("listen = \"" + address + "\"\n" + files + "change = [\"controller\"]\nread = [\"a\", \"b\"]")
		if err != nil || c.API.Listen.String() != address {
			t.Errorf("%s: %v", address, err)
		}
	}
	// The clock may not be set yet, so Load accepts the file, and --check-config refuses it.
	for text, want := range map[string]string{files: "", strings.Replace(files, "box-b.pem", "old.pem", 1): "old.pem expired on "} {
		c, err := load("listen = \"10.0.0.1:4555\"\n" + text + "read = [\"a\"]")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.API.InTime(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	const listen, some = "listen = \"10.0.0.1:4555\"\n", "read = [\"a\"]\n"
	for text, want := range map[string]string{
		files:          ":3: api needs listen",
		some:           ":3: api needs listen",
		listen + files: ": api needs change or read",
		listen + some:  ":3: api needs certificate, key and trust",
		files + some + "listen = \"0.0.0.0:4555\"": `:7: "0.0.0.0:4555" is every address of this machine`,
		"listen = \"[::]:4555\"":                   `:3: "[::]:4555" is every address`,
		"listen = \"[::ffff:0.0.0.0]:4555\"":       `is every address`,
		"listen = \":4555\"":                       `:3: ":4555" is no ADDRESS:PORT`,
		"listen = \"10.0.0.1:1023\"":               `:3: "10.0.0.1:1023" has a port below 1024`,
		"listen = \"10.0.0.1:0\"":                  `:3: "10.0.0.1:0" has a port below 1024`,
		"key = \"F/open.key\"":                     ":3: everybody may reach the key ",
		"key = \"F/box-a.pem\"":                    "holds no private key",
		listen + strings.Replace(files, "box-a.key", "box-b.key", 1) + some: "certificate and key do not belong together",
		listen + files + "change = [\"a\"]\nread = [\"A\"]":                 `:8: the client "a" is named twice`,
		listen + files + "read = [\"*.example\"]":                           `:7: "*.example" cannot be a client's name`,
		listen + files + "read = [\"box-a\"]":                               `:7: the own certificate has the name "box-a" of a client`,
		listen + files + "write = [\"a\"]":                                  `:7: there is no key "api.write"`,
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
