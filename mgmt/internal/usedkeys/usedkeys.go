// SPDX-License-Identifier: Apache-2.0

// Package usedkeys remembers which outbound keys a box has had, over resets of the box and of the
// machine. Sequence numbers begin anew with each installation, and a number must not come twice
// under one key (RFC 4303, 3.3.3).
package usedkeys

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"sallyport/mgmt/internal/disk"
)

// Most is how many keys are remembered, so that the file is bounded: 16 rekeys of each SA of the
// largest box. Of more the oldest are forgotten.
const Most = 1 << 20

// Mark stands for a key. It says nothing of it.
type Mark [16]byte

// Use is a key, and the numbers that a box may have used under it: those of node Number of so
// many, or all where Of is 0. The SA that had it last is that of SPI and Dst, unless an earlier
// version wrote the file.
type Use struct {
	Mark       Mark
	Number, Of uint8
	SPI        uint32
	Dst        netip.Addr
}

// Keys is the file of marks, which this process alone has until Close.
type Keys struct {
	db   *bolt.DB
	most uint64
	name []byte // what marks are made with
}

var (
	meta  = []byte("meta")  // the key that marks are made with, under `name`
	marks = []byte("marks") // of each mark its number and SA; an older file lacks the SA
	order = []byte("order") // of each number, which count up, its mark
	name  = []byte("name")
)

// Open opens the file, or makes it, and waits for others that have it.
func Open(path string) (*Keys, error) { return open(path, Most, nil) }

func open(path string, most uint64, options *bolt.Options) (*Keys, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, disk.Failed("cannot remember which keys were used in "+filepath.Dir(path), err)
	}
	db, err := bolt.Open(path, 0o600, options)
	if err != nil {
		return nil, disk.Failed("cannot open the marks of used keys "+path, err)
	}
	k := &Keys{db: db, most: most}
	if err := k.begin(); err != nil {
		return nil, errors.Join(disk.Failed("cannot use the marks of used keys "+path, err), db.Close())
	}
	return k, nil
}

// begin reads the key of marks. Only a file that is new is written.
func (k *Keys) begin() error {
	err := k.db.View(func(tx *bolt.Tx) error {
		if bucket := tx.Bucket(meta); bucket != nil {
			k.name = append([]byte(nil), bucket.Get(name)...)
		}
		return nil
	})
	if err != nil || k.name != nil {
		return err
	}
	k.name = make([]byte, sha256.Size)
	_, _ = rand.Read(k.name) // never fails (crypto/rand)
	return k.db.Update(func(tx *bolt.Tx) error {
		for _, bucket := range [][]byte{meta, marks, order} {
			if _, err := tx.CreateBucket(bucket); err != nil {
				return err
			}
		}
		return tx.Bucket(meta).Put(name, k.name)
	})
}

// Mark is that of a key with its salt: the same under every suite, for a number must not come again
// under another one either.
func (k *Keys) Mark(key []byte) (m Mark) {
	// Whole blocks, which SHA-256 takes where they are: it would copy a part of a block, and no
	// caller can clear that copy.
	blocks := make([]byte, sha256.BlockSize*(len(key)/sha256.BlockSize+1))
	defer clear(blocks)
	copy(blocks, key)
	blocks[len(blocks)-1] = byte(len(key))
	mac := hmac.New(sha256.New, k.name)
	mac.Write(blocks)
	copy(m[:], mac.Sum(nil))
	return m
}

// Used gives the last use of a key that was added, and whether one was.
func (k *Keys) Used(m Mark) (use Use, used bool, err error) {
	err = k.db.View(func(tx *bolt.Tx) error {
		value := tx.Bucket(marks).Get(m[:])
		used = value != nil
		use.Mark = m
		if len(value) < placeBytes+saBytes {
			return nil
		}
		rest := value[placeBytes:]
		use.Number, use.Of, use.SPI = rest[0], rest[1], binary.BigEndian.Uint32(rest[2:])
		return use.Dst.UnmarshalBinary(rest[6:])
	})
	return use, used, err
}

// Add remembers keys, all or none, and is done when they are on the disk. Of a key that was added
// before it remembers the SA.
func (k *Keys) Add(list []Use) error {
	err := k.db.Update(func(tx *bolt.Tx) error {
		for _, use := range list {
			if err := k.add(tx.Bucket(marks), tx.Bucket(order), use); err != nil {
				return err
			}
		}
		return nil
	})
	return disk.Failed("cannot write the marks of used keys "+k.db.Path(), err)
}

// placeBytes is the length of a mark's number, and saBytes that of its SA without the destination.
const placeBytes, saBytes = 8, 6

func (k *Keys) add(marks, order *bolt.Bucket, use Use) error {
	m := use.Mark
	dst, err := use.Dst.MarshalBinary()
	if err != nil {
		return err
	}
	sa := append(binary.BigEndian.AppendUint32([]byte{use.Number, use.Of}, use.SPI), dst...)
	if before := marks.Get(m[:]); before != nil {
		return marks.Put(m[:], append(bytes.Clone(before[:placeBytes]), sa...))
	}
	number, err := order.NextSequence()
	if err != nil {
		return err
	}
	place := binary.BigEndian.AppendUint64(nil, number)
	if err := errors.Join(marks.Put(m[:], append(bytes.Clone(place), sa...)), order.Put(place, m[:])); err != nil {
		return err
	}
	if number <= k.most {
		return nil
	}
	oldest := binary.BigEndian.AppendUint64(nil, number-k.most)
	return errors.Join(marks.Delete(order.Get(oldest)), order.Delete(oldest))
}

// Close lets others have the file.
func (k *Keys) Close() error { return k.db.Close() }
