// SPDX-License-Identifier: Apache-2.0

package chip

import (
	"slices"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// cards is a box of cards, which no simulation is; its key of identifications is random.
func cards(t *testing.T) (*fakebox.Box, *Box) {
	t.Helper()
	fake := fakebox.New(fakebox.Small)
	fake.Set(transport.Outer, regs.CommonBuild, 0)
	return fake, opened(t, fake)
}

func opened(t *testing.T, fake *fakebox.Box) *Box {
	t.Helper()
	b, err := Open(t.Context(), fake)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSeedIdentifiers: a key a reset, another one each time and for each box, and no part of it
// stays in the register. Simulated chips have the same key each time.
func TestSeedIdentifiers(t *testing.T) {
	var keys [][]uint16
	for range 2 {
		fake, b := cards(t)
		for range 2 {
			if err := b.SeedIdentifiers(); err != nil {
				t.Fatal(err)
			}
			writes := fake.Writes
			if err := b.SeedIdentifiers(); err != nil || fake.Writes != writes {
				t.Errorf("a chip that has a key gets another one (%v)", err)
			}
			if left := fake.Get(transport.Outer, regs.OuterIdentifierSeed); left != 0 {
				t.Errorf("%#x of the key stays in the register", left)
			}
			if fake.Get(transport.Outer, regs.OuterIdentifiers) == 0 {
				t.Error("the chip has no key")
			}
			for _, before := range keys {
				if slices.Equal(before, fake.IdentifierKey) {
					t.Errorf("the key %x comes again", before)
				}
			}
			keys = append(keys, fake.IdentifierKey)
			fake.Reset()
		}
	}
	var simulated [][]uint16
	for range 2 {
		fake := fakebox.New(fakebox.Small)
		if err := opened(t, fake).SeedIdentifiers(); err != nil {
			t.Fatal(err)
		}
		simulated = append(simulated, fake.IdentifierKey)
	}
	if !slices.Equal(simulated[0], simulated[1]) {
		t.Errorf("simulated chips have the keys %x", simulated)
	}
}

// TestSeedCutShort: software that ends between any two words leaves a chip without a key, and the
// next one writes a whole key.
func TestSeedCutShort(t *testing.T) {
	for after := 1; ; after++ {
		fake, b := cards(t)
		fake.FailAfter = after
		err := b.SeedIdentifiers()
		fake.FailAfter = 0
		part := slices.Clone(fake.IdentifierKey)
		if err == nil {
			if after < 7 {
				t.Errorf("only %d accesses write a key", after-1)
			}
			return
		}
		whole := len(part) == 5
		if seeded := fake.Get(transport.Outer, regs.OuterIdentifiers) != 0; seeded != whole {
			t.Errorf("with %d words the chip has a key: %v", len(part), seeded)
		}
		if err := b.SeedIdentifiers(); err != nil {
			t.Fatal(err)
		}
		if left := fake.Get(transport.Outer, regs.OuterIdentifierSeed); left != 0 {
			t.Errorf("behind %d words %#x of the key stays in the register", len(part), left)
		}
		if len(fake.IdentifierKey) != 5 || !whole && len(part) > 0 && slices.Equal(fake.IdentifierKey[:len(part)], part) {
			t.Errorf("behind %x the key is %x", part, fake.IdentifierKey)
		}
	}
}
