// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"fmt"

	"sallyport/mgmt/internal/mutual"
)

// API is where clients of other machines reach the API. Without an address none does.
type API struct {
	Listen Listen `toml:"listen"`
	// Certificate and Key are this box's. Trust has the clients' certificates, or those that sign
	// them. One that is out of time keeps its clients out, and not the daemon from starting: the
	// clock may not be set yet.
	Certificate Dated `toml:"certificate"`
	Key         Key   `toml:"key"`
	Trust       Dated `toml:"trust"`
	// Change and Read are the DNS names in the certificates of clients that may change the box, and
	// of those that may ask alone.
	Change []string `toml:"change"`
	Read   []string `toml:"read"`
}

// leastPort is the first that needs no capability, which the daemon does not have.
const leastPort = 1024

// Wanted says whether clients of other machines are served.
func (a *API) Wanted() bool { return a.Listen.IsValid() }

// Access is who may come.
func (a *API) Access() (*mutual.Access, error) {
	return mutual.NewAccess(a.Certificate.List, a.Key.Signer, a.Trust.List, a.Change, a.Read)
}

// InTime names the first certificate of this box, or of those that sign clients', that is not valid
// now.
func (a *API) InTime() error { return cmp.Or(a.Certificate.InTime(), a.Trust.InTime()) }

// check finds what does not go together.
func (a *API) check() error {
	switch {
	case !a.Wanted() && (a.Certificate.List != nil || a.Key.Signer != nil || a.Trust.List != nil || a.Change != nil || a.Read != nil):
		return errors.New("api needs listen, the address and port at which clients of other machines reach this one")
	case !a.Wanted():
		return nil
	case a.Listen.Addr().Unmap().IsUnspecified():
		return fmt.Errorf("%q is every address of this machine: write the one that its clients connect to", a.Listen)
	case a.Listen.Port() < leastPort:
		return fmt.Errorf("%q has a port below %d, for which the daemon has no right", a.Listen, leastPort)
	case a.Certificate.List == nil || a.Key.Signer == nil || a.Trust.List == nil:
		return errors.New("api needs certificate, key and trust: what this box shows its clients, and who signs theirs")
	case len(a.Change)+len(a.Read) == 0:
		return errors.New("api needs change or read: the names in the certificates of its clients")
	}
	_, err := a.Access()
	return err
}
