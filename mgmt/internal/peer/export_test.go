// SPDX-License-Identifier: Apache-2.0

package peer

import "crypto/tls"

// NewGate makes a gate without a server behind it.
var NewGate = newGate

// TLS is what an identity speaks TLS with.
func (i *Identity) TLS() *tls.Config { return i.config() }
