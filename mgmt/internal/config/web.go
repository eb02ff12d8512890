// SPDX-License-Identifier: Apache-2.0

package config

import "fmt"

// Web is where the daemon's page is; an empty address is nowhere.
type Web struct {
	Listen Listen `toml:"listen"`
	// Remote says that the address may be one at which other machines reach it.
	Remote bool `toml:"remote"`
}

// check refuses to show strangers the page by mistake: it has neither TLS nor a password.
func (w Web) check() error {
	if w.Listen.IsValid() && !w.Listen.Addr().IsLoopback() && !w.Remote {
		return fmt.Errorf("%q is not on loopback, and the page has neither TLS nor a password: put a reverse proxy in front, or say remote = true", w.Listen)
	}
	return nil
}
