// SPDX-License-Identifier: Apache-2.0

package mesh

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"unicode"

	"sallyport/mgmt/internal/mutual"
)

// Version is that of the protocol between nodes. Nodes of different versions refuse each other.
const Version = 1

// Purpose says what a connection carries.
type Purpose string

// The purposes.
const (
	Calls   Purpose = "calls"   // questions and answers, of nodes that are no members yet, too
	Packets Purpose = "packets" // memberlist's datagrams
	Streams Purpose = "streams" // memberlist's streams
	Raft    Purpose = "raft"
)

// Hello is the first that an end says. Its encoding is the same in each version.
type Hello struct {
	Version int     `json:"version"`
	Purpose Purpose `json:"purpose"`
	Cluster string  `json:"cluster,omitempty"` // empty: of none yet
	Slot    int     `json:"slot"`
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Address string  `json:"address"`
	// Refused says why this end ends the connection.
	Refused string `json:"refused,omitempty"`
}

// errSelf is of a node that has called itself.
var errSelf = errors.New("this node has called itself")

// IsSelf says whether a node failed to reach another because the address is its own.
func IsSelf(err error) bool { return errors.Is(err, errSelf) }

// Refusal is a sentence of the other end.
type Refusal struct{ By, Why string }

func (r *Refusal) Error() string { return fmt.Sprintf("%s refuses this node: %s", r.By, r.Why) }

// config is that of both ends: the way in which a certificate is judged is the same.
func config(i *mutual.Identity) *tls.Config {
	c := i.Config()
	c.ClientAuth, c.InsecureSkipVerify = tls.RequireAnyClientCert, true
	c.VerifyConnection = func(state tls.ConnectionState) error {
		return i.Verify(state.PeerCertificates, x509.ExtKeyUsageAny)
	}
	return c
}

// judge says why another node does not count.
func (m *Mesh) judge(state tls.ConnectionState, own, other Hello) error {
	if other.Version != own.Version {
		return fmt.Errorf("%s speaks version %d of the cluster's protocol, and this node version %d: install the same release on both", other.Name, other.Version, own.Version)
	}
	if err := mutual.CheckName(state.PeerCertificates[0], other.Name); err != nil {
		return fmt.Errorf("%s says a name that is not its own: %w", other.Name, err)
	}
	if other.ID == own.ID {
		return errSelf
	}
	switch other.Purpose {
	case Calls, Packets, Streams, Raft:
	default:
		return fmt.Errorf("there is no purpose %q of a connection", other.Purpose)
	}
	return m.rules.Admits(other)
}

// clean is a hello without what a terminal obeys.
func (h *Hello) clean() {
	for _, text := range []*string{&h.Cluster, &h.ID, &h.Name, &h.Address, &h.Refused} {
		*text = Line(*text)
	}
	h.Purpose = Purpose(Line(string(h.Purpose)))
}

// Line makes one line of another's text: without line ends, and without characters that a terminal
// obeys.
func Line(text string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, " "))
	return strings.Join(strings.Fields(printable), " ")
}

// sentence says why a connection failed, in the words of a cluster.
func sentence(address string, err error, i *mutual.Identity) error {
	var operation *net.OpError
	var timeout net.Error
	switch {
	// so crypto/tls says that the far end has sent an alert
	case errors.As(err, &operation) && operation.Op == "remote error":
		return fmt.Errorf("%s refuses this node's certificate, and its log says why: %w", address, operation.Err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s does not answer in time", address)
	case errors.As(err, &operation):
		return fmt.Errorf("%s cannot be reached: %w", address, operation.Err)
	}
	return fmt.Errorf("%s does not count as a node: %w", address, mutual.Sentence(err, i.Config().Time()))
}
