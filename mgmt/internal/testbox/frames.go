// SPDX-License-Identifier: Apache-2.0

package testbox

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
)

// Asked is a UDP packet of one flow, as scapy makes it but for the checksums.
func Asked(t *testing.T, sport uint16) []byte {
	t.Helper()
	frame, err := hex.DecodeString(fmt.Sprintf("020000000072020000000099"+"08004500001f00010000401166b90a0100090a020009%04x0009000b0000616263", sport))
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// Cleared is a packet in clear from a station at red to a host at black, as the outer chip punts
// it.
func Cleared(t *testing.T, from, to [4]byte, sport uint16) []byte {
	t.Helper()
	frame := Asked(t, sport)
	copy(frame, []byte{2, 0x62, 192, 0, 2, 1, 2, 0x62, 192, 0, 2, 1})
	copy(frame[14+12:], slices.Concat(from[:], to[:]))
	frame[14+10], frame[14+11] = 0, 0
	binary.BigEndian.PutUint16(frame[14+10:], SumOf(frame[14:34]))
	return frame
}

// SumOf is the checksum of RFC 1071.
func SumOf(data []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	return ^uint16(sum>>16 + sum&0xFFFF)
}
