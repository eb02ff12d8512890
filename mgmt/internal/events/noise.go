// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/binary"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Noise is what the crypto chip's noise source had for software.
type Noise struct {
	// Good says that its health tests have passed since they began, Failed that one has not; in
	// between they are beginning.
	Good, Failed bool
	// Words are raw bits, which are nowhere else now. There are none without Good.
	Words []byte
}

// TakeNoise takes the words that wait. Health tests that have failed begin anew.
func TakeNoise(b *chip.Box) (Noise, error) {
	status, err := b.Read32(transport.Crypto, regs.CryptoNoiseStatus)
	if err != nil {
		return Noise{}, err
	}
	row := []uint32{status}
	n := Noise{
		Good:   regs.CryptoNoiseStatusGood.Get(row) == 1,
		Failed: regs.CryptoNoiseStatusRepetitionFailed.Get(row)+regs.CryptoNoiseStatusProportionFailed.Get(row) > 0,
	}
	if n.Failed {
		return n, controlNoise(b, regs.CryptoNoiseControlRestart)
	}
	for range regs.CryptoNoiseStatusWords.Get(row) {
		word, err := b.Read32(transport.Crypto, regs.CryptoNoiseWord)
		if err == nil {
			err = controlNoise(b, regs.CryptoNoiseControlPop)
		}
		if err != nil {
			return n, err
		}
		n.Words = binary.LittleEndian.AppendUint32(n.Words, word)
	}
	return n, nil
}

func controlNoise(b *chip.Box, pulse regs.Field) error {
	row := []uint32{0}
	pulse.Put(row, 1)
	return b.Write32(transport.Crypto, regs.CryptoNoiseControl, row[0])
}
