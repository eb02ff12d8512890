// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"time"

	"sallyport/mgmt/internal/place"
	"sallyport/mgmt/internal/xfrm"
)

// Each value of the file checks itself when it is read, so that the error has its line. All are
// structs, for the TOML library does not ask named strings and numbers.

var defaultPoll = Period{100 * time.Millisecond}

// leastPoll and mostPoll bound the period of polling: a chip keeps 16 events, and the watchdog
// waits for polls.
const (
	leastPoll = time.Millisecond
	mostPoll  = 10 * time.Second
)

// defaultSAs have metrics of their own, six series each.
const defaultSAs = 1000

// defaultListen is on loopback.
var defaultListen = Listen{netip.MustParseAddrPort("127.0.0.1:9774")}

// Registers is the place of the box.
type Registers struct{ place.Place }

// UnmarshalText reads unix:PATH, pci:CRYPTO or pci:INNER,CRYPTO,OUTER.
func (r *Registers) UnmarshalText(text []byte) (err error) {
	r.Place, err = place.Parse(string(text))
	return err
}

// Path is an absolute path.
type Path struct{ Name string }

// UnmarshalText checks that it is.
func (p *Path) UnmarshalText(text []byte) error {
	if !filepath.IsAbs(string(text)) {
		return fmt.Errorf("%q is not an absolute path", text)
	}
	p.Name = string(text)
	return nil
}

// Group is the name of a group of this machine.
type Group struct{ Name string }

// UnmarshalText checks that it exists.
func (g *Group) UnmarshalText(text []byte) error {
	g.Name = string(text)
	_, err := g.GID()
	return err
}

// Period is a time between polls.
type Period struct{ time.Duration }

// UnmarshalText reads a number with a unit, as 100ms.
func (p *Period) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < leastPoll || d > mostPoll {
		return fmt.Errorf("%q is no time from %v to %v, such as 100ms", text, leastPoll, mostPoll)
	}
	p.Duration = d
	return nil
}

// leastAge and mostAge bound how long a path MTU holds: longer packets may be tried again after 5
// minutes at the earliest (RFC 1191, 6.3; RFC 8201, 4).
const (
	leastAge = 5 * time.Minute
	mostAge  = 24 * time.Hour
)

// Age is how long a path MTU holds.
type Age struct{ time.Duration }

// UnmarshalText reads a number with a unit, as 10m.
func (a *Age) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < leastAge || d > mostAge {
		return fmt.Errorf("%q is no time from 5m to 24h, such as 10m", text)
	}
	a.Duration = d
	return nil
}

// Listen is an address and a port; not valid: none.
type Listen struct{ netip.AddrPort }

// UnmarshalText reads ADDRESS:PORT, or nothing.
func (l *Listen) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*l = Listen{}
		return nil
	}
	if err := l.AddrPort.UnmarshalText(text); err != nil {
		return fmt.Errorf("%q is no ADDRESS:PORT with an IP address", text)
	}
	return nil
}

// String is ADDRESS:PORT; empty of none.
func (l Listen) String() string {
	if !l.IsValid() {
		return ""
	}
	return l.AddrPort.String()
}

// Level is debug, info, warn or error.
type Level struct{ slog.Level }

// UnmarshalText reads it.
func (l *Level) UnmarshalText(text []byte) error {
	switch string(text) {
	case "debug", "info", "warn", "error":
		return l.Level.UnmarshalText(text)
	}
	return fmt.Errorf("%q must be debug, info, warn or error", text)
}

// Device is the name of a network device of Linux.
type Device struct{ Name string }

// UnmarshalText checks that it can be one.
func (d *Device) UnmarshalText(text []byte) error {
	if name := string(text); !xfrm.IsLinkName(name) {
		return fmt.Errorf("%q cannot be the name of a device: write 1 to 15 characters, none of them a space, a colon or a slash", name)
	}
	d.Name = string(text)
	return nil
}
