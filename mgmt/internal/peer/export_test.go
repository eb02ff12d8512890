// SPDX-License-Identifier: Apache-2.0

package peer

import "crypto/tls"

// NewGate makes a gate without a server behind it.
var NewGate = newGate

// Config is what an identity speaks TLS with.
func (i *Identity) Config() *tls.Config { return i.config() }
