// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"sallyport/mgmt/internal/mutual"
	"sallyport/mgmt/internal/peer"
)

// Peer is the other box of a pair. Without a side the box is alone.
type Peer struct {
	Side    Side   `toml:"side"`
	Listen  Listen `toml:"listen"`  // where the other box asks
	Connect Listen `toml:"connect"` // where it is asked
	// Certificate and Key are this box's. Trust has the other's certificate, or one that signs it,
	// and Name is the DNS name in it. One that is out of time keeps the boxes apart, and not the
	// daemon from starting: the clock may not be set yet.
	Certificate Dated  `toml:"certificate"`
	Key         Key    `toml:"key"`
	Trust       Dated  `toml:"trust"`
	Name        string `toml:"name"`
	Interval    Period `toml:"interval"`
	Dead        Period `toml:"dead_after"`
	// Rate is the most packets/s that an SA carries, each way.
	Rate uint64 `toml:"packets_per_second"`
	// Fence is a program that makes sure that the other box forwards nothing; empty: there is none.
	Fence Path `toml:"fence"`
}

// chipRate is what a crypto chip can number: a packet every 2 cycles of 300 MHz.
const chipRate = 150_000_000

var defaultPeer = Peer{Interval: Period{500 * time.Millisecond}, Dead: Period{2 * time.Second}, Rate: chipRate}

// Wanted says whether the box is one of a pair.
func (p *Peer) Wanted() bool { return p.Side.Side != "" }

// Identity is what the boxes know each other by.
func (p *Peer) Identity() (*peer.Identity, error) {
	return peer.NewIdentity(p.Certificate.List, p.Key.Signer, p.Trust.List, p.Name)
}

// InTime names the first certificate of this box, or of those that know the other, that is not
// valid now.
func (p *Peer) InTime() error { return cmp.Or(p.Certificate.InTime(), p.Trust.InTime()) }

// check finds what does not go together.
func (p *Peer) check() error {
	switch {
	case !p.Wanted() && (p.Listen.IsValid() || p.Connect.IsValid() || p.Certificate.List != nil || p.Key.Signer != nil || p.Trust.List != nil || p.Name != ""):
		return errors.New(`peer needs its side, "a" here and "b" on the other box`)
	case !p.Wanted():
		return nil
	case !p.Listen.IsValid() || !p.Connect.IsValid():
		return errors.New("peer needs both listen and connect: each box asks the other")
	case p.Certificate.List == nil || p.Key.Signer == nil || p.Trust.List == nil || p.Name == "":
		return errors.New("peer needs certificate, key, trust and name: what this box shows the other, and what it knows the other by")
	case p.Dead.Duration < 2*p.Interval.Duration:
		return fmt.Errorf("dead_after must be at least twice the interval of %v, lest one lost answer move the tunnel", p.Interval.Duration)
	case p.Rate == 0 || p.Rate > chipRate:
		return fmt.Errorf("packets_per_second must be 1 to %d, which is what the chip can number", chipRate)
	}
	_, err := p.Identity()
	return err
}

// Side is a or b.
type Side struct{ peer.Side }

// UnmarshalText checks it.
func (s *Side) UnmarshalText(text []byte) error {
	s.Side = peer.Side(text)
	if s.Side != peer.SideA && s.Side != peer.SideB {
		return fmt.Errorf(`%q must be "a" or "b": one box of a pair is the one, the other the other`, text)
	}
	return nil
}

// Dated are those of a file, valid now or not.
type Dated struct {
	Path Path
	List []*x509.Certificate
}

// UnmarshalText reads the file.
func (d *Dated) UnmarshalText(text []byte) (err error) {
	if err := d.Path.UnmarshalText(text); err != nil {
		return err
	}
	d.List, err = mutual.ReadAnyCertificates(d.Path.Name)
	return err
}

// InTime names the first certificate that is not valid now.
func (d *Dated) InTime() error { return mutual.InTime(d.Path.Name, d.List) }

// Key is a private key, of a file that others may not read and another user does not own.
type Key struct{ Signer crypto.Signer }

// UnmarshalText reads the file.
func (k *Key) UnmarshalText(text []byte) (err error) {
	var path Path
	if err := path.UnmarshalText(text); err != nil {
		return err
	}
	k.Signer, err = mutual.ReadServiceKey(path.Name)
	return err
}

// String keeps it out of logs.
func (k Key) String() string { return "key" }
