// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"net/netip"

	"sallyport/mgmt/internal/suite"
)

// Secret is key material: it never prints and never marshals.
type Secret []byte

// Redacted stands where a key would be.
const Redacted = "<redacted>"

func (Secret) String() string   { return Redacted }
func (Secret) GoString() string { return Redacted }

// Format keeps every verb from showing the bytes.
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, Redacted) }

// MarshalJSON refuses: a key that would reach a file is a mistake of the program.
func (Secret) MarshalJSON() ([]byte, error) {
	return nil, fmt.Errorf("a key is never written to a file")
}

// Zero wipes the bytes.
func (s Secret) Zero() { clear(s) }

// Dir is a direction of an SA or a policy.
type Dir string

const (
	DirNone Dir = ""
	DirIn   Dir = "in"
	DirOut  Dir = "out"
	DirFwd  Dir = "fwd"
)

// ID names an SA or, in a template, what an SA must be. Invalid addresses and zero numbers are
// "not given".
type ID struct {
	Src   netip.Addr `json:"src"`
	Dst   netip.Addr `json:"dst"`
	Proto string     `json:"proto,omitempty"`
	SPI   uint32     `json:"spi,omitempty"`
}

// AddrText prints an address, 0.0.0.0 when it is not given.
func AddrText(a netip.Addr) string {
	if !a.IsValid() {
		return "0.0.0.0"
	}
	return a.String()
}

// Algorithm is one algorithm of an SA, under Linux's name, with its key. A salt is the end of the
// key.
type Algorithm struct {
	Name    string `json:"name"`
	KeyBits int    `json:"key_bits"`
	ICVBits int    `json:"icv_bits,omitempty"` // of an aead or an auth
	Key     Secret `json:"-"`
}

// Given says whether the algorithm was written.
func (a *Algorithm) Given() bool { return a.Name != "" }

// Flags of a state that this box honours.
type Flags struct {
	ESN           bool `json:"esn,omitempty"`
	NoECN         bool `json:"noecn,omitempty"`
	NoPMTUDisc    bool `json:"nopmtudisc,omitempty"`
	AFUnspec      bool `json:"af_unspec,omitempty"`
	Align4        bool `json:"align4,omitempty"`
	DontEncapDSCP bool `json:"dont_encap_dscp,omitempty"`
	// ICMP changes nothing: every SA takes ICMP errors about its own traffic (RFC 4301 6.2).
	ICMP                bool `json:"icmp,omitempty"`
	decapDSCP, wildRecv bool
}

// State is an SA as written.
type State struct {
	ID
	Name  string `json:"name,omitempty"`
	Mode  string `json:"mode"`
	ReqID uint32 `json:"reqid,omitempty"`
	// IfID is that of the XFRM interface whose packets the SA carries; 0: of none.
	IfID         uint32 `json:"if_id,omitempty"`
	ReplayWindow uint32 `json:"replay_window"`
	// ReplaySeq is the highest number that counts as received from the start, ReplayOSeq the one
	// that counts as sent.
	ReplaySeq  uint64 `json:"replay_seq,omitempty"`
	ReplayOSeq uint64 `json:"replay_oseq,omitempty"`
	Flags      Flags  `json:"flags"`
	// DF and DSCP of the outer headers that an outbound SA makes.
	DF   DF   `json:"df,omitempty"`
	DSCP DSCP `json:"dscp,omitzero"`
	// TFCPad is the least length of an outbound SA's payload inside ESP; Dummy describes the dummy
	// packets that it sends besides.
	TFCPad uint32 `json:"tfcpad,omitempty"`
	Dummy  *Dummy `json:"dummy,omitempty"`
	// Node is this box, of those that share an outbound SA.
	Node Node `json:"node,omitzero"`
	// ForDSCP are the DSCPs whose packets an outbound SA carries before others of its template; 0:
	// those that are no other's.
	ForDSCP DSCPs `json:"for_dscp,omitempty"`
	Dir     Dir   `json:"dir,omitempty"`
	// An SA has Aead, or Enc and Auth.
	Aead Algorithm `json:"aead,omitzero"`
	Enc  Algorithm `json:"enc,omitzero"`
	Auth Algorithm `json:"auth,omitzero"`
	// Lifetimes; 0 is none.
	ByteSoft   uint64     `json:"byte_soft,omitempty"`
	ByteHard   uint64     `json:"byte_hard,omitempty"`
	PacketSoft uint64     `json:"packet_soft,omitempty"`
	PacketHard uint64     `json:"packet_hard,omitempty"`
	Time       TimeLimits `json:"time,omitzero"`
	Sel        *Selector  `json:"sel,omitempty"`
	Encap      *Encap     `json:"encap,omitempty"`
}

// Crypt is the algorithm that encrypts.
func (s *State) Crypt() *Algorithm {
	if s.Aead.Given() {
		return &s.Aead
	}
	return &s.Enc
}

// Suite is the suite of the algorithms together, or nil if the box does not have it.
func (s *State) Suite() *suite.Suite {
	crypt := s.Crypt()
	return suite.Find(crypt.Name, crypt.KeyBits/8, s.Auth.Name, s.ICVBits())
}

// ICVBits is the length of the ICV.
func (s *State) ICVBits() int {
	return max(s.Aead.ICVBits, s.Auth.ICVBits) // one of them is 0
}

// Wipe clears the keys.
func (s *State) Wipe() {
	for _, a := range []Algorithm{s.Aead, s.Enc, s.Auth} {
		a.Key.Zero()
	}
}

// Action of a policy.
type Action string

const (
	ActionAllow Action = "allow"
	ActionBlock Action = "block"
	// Not in iproute2: to the management CPU, and discarded there with an answer to the sender.
	ActionPunt   Action = "punt"
	ActionReject Action = "reject"
)

// Template says which SA a policy asks for.
type Template struct {
	ID
	Mode  string `json:"mode"`
	ReqID uint32 `json:"reqid,omitempty"`
}

// Policy is an SPD entry as written.
type Policy struct {
	Selector
	Name     string    `json:"name,omitempty"`
	Dir      Dir       `json:"dir"`
	Action   Action    `json:"action"`
	Priority uint32    `json:"priority"`
	Index    uint32    `json:"index"` // 0: to be chosen
	Template *Template `json:"tmpl,omitempty"`
	// FragmentFirst: IPv4 packets that are too long for the SA, and may be cut, are cut before they
	// are encrypted, not behind.
	FragmentFirst bool `json:"fragment_first,omitempty"`
	// MSS: the maximum segment size of TCP connections is lowered to what their SAs can carry.
	MSS bool `json:"mss,omitempty"`
	// ICMP changes nothing, as that of a state.
	ICMP bool `json:"icmp,omitempty"`
	// IfID is that of the XFRM interface whose packets the policy is for; 0: of none.
	IfID uint32 `json:"if_id,omitempty"`
}

// MAC is an Ethernet address.
type MAC [6]byte

func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// MarshalText prints the usual form.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the usual form.
func (m *MAC) UnmarshalText(text []byte) error {
	mac, err := ParseMAC(string(text))
	*m = mac
	return err
}
