// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/config"
)

// TestWeb: there is no page unless it is asked for, and none that other machines reach unless that
// is said.
func TestWeb(t *testing.T) {
	const ok = "registers = \"unix:/s\"\n[web]\n"
	for text, want := range map[string]string{
		"":                                      "",
		`listen = ""`:                           "",
		`listen = "127.0.0.1:9775"`:             "127.0.0.1:9775",
		`listen = "[::1]:9775"`:                 "[::1]:9775",
		"remote = true\nlisten = \"0.0.0.0:1\"": "0.0.0.0:1",
		"listen = \"[::]:1\"\nremote = true":    "[::]:1",
	} {
		if c, _, err := config.Load(write(t, ok+text)); err != nil || c.Web.Listen.String() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"\nlisten = \"0.0.0.0:9775\"":                    `:4: "0.0.0.0:9775" is not on loopback`,
		"listen = \"192.0.2.1:9775\"\nremote = false":    `:3: "192.0.2.1:9775" is not on loopback`,
		"listen = \"[::ffff:192.0.2.1]:1\"":              ":3: ",
		"listen = \"9775\"":                              `:3: "9775" is no ADDRESS:PORT`,
		"listen = \"127.0.0.1:9775\"\nremote = \"true\"": ":4: ",
		"token = \"x\"":                                  `:3: there is no key "web.token"`,
	} {
		if _, _, err := config.Load(write(t, ok+text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
