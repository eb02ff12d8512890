// SPDX-License-Identifier: Apache-2.0

package chip

import (
	"crypto/rand"
	"encoding/binary"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// identifierKeyBytes is the length of the key of identifications, which is Trivium's.
const identifierKeyBytes = 10

// simulatedKey is the key of simulated chips, whose runs must give the same packets each time.
var simulatedKey = [identifierKeyBytes]byte([]byte("simulation"))

// SeedIdentifiers gives the outer chip a random key, if it has none since its reset. From that it
// makes the identifications in outer headers (RFC 7739). The key is nowhere else.
func (b *Box) SeedIdentifiers() error {
	now, err := b.ReadAll(Source{transport.Outer, regs.OuterIdentifiers}, Source{transport.Outer, regs.OuterIdentifierSeed})
	if err != nil {
		return err
	}
	// The register keeps the last word that it got.
	wipe := Set(transport.Outer, regs.OuterIdentifierSeed, 0)
	if now[0]>>regs.OuterIdentifiersSeeded.LSB&1 != 0 {
		if now[1] != 0 { // software ended before it wiped that word
			return b.WriteAll(wipe)
		}
		return nil
	}
	key := simulatedKey
	defer clear(key[:])
	if !b.Identity[transport.Outer].Simulation {
		_, _ = rand.Read(key[:]) // never fails (crypto/rand)
	}
	first := uint32(1) << regs.OuterIdentifierSeedFirst.LSB
	var settings []Setting
	for at := 0; at < len(key); at += 2 {
		word := uint32(binary.LittleEndian.Uint16(key[at:]))
		settings = append(settings, Set(transport.Outer, regs.OuterIdentifierSeed, word|first|1<<regs.OuterIdentifierSeedLoad.LSB))
		first = 0
	}
	settings = append(settings, wipe)
	defer clear(settings)
	return b.WriteAll(settings...)
}
