// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// store keeps raft's log and votes, and the node's identity. A node that forgot them could vote
// twice in a term, or lose an entry that it had confirmed. raft-boltdb would do the same, but it
// needs a module that is not made for loong64.
type store struct {
	db *bbolt.DB
	id string
}

var (
	bucketLogs = []byte("logs")
	bucketConf = []byte("conf")
	keyID      = []byte("sallyport-id")
	keyCluster = []byte("sallyport-cluster")
)

// lockTimeout is how long another program may have the file.
const lockTimeout = time.Second

// errNotFound has the words by which raft tells it from a failure.
var errNotFound = errors.New("not found")

func openStore(folder string) (*store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the cluster's state: %w", err)
	}
	path := filepath.Join(folder, "raft.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout, NoFreelistSync: true})
	if err != nil {
		return nil, fmt.Errorf("cannot open the cluster's state %s: %w", path, err)
	}
	s := &store{db: db}
	err = db.Update(func(tx *bbolt.Tx) error {
		conf, err := tx.CreateBucketIfNotExists(bucketConf)
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucketIfNotExists(bucketLogs); err != nil {
			return err
		}
		if s.id = string(conf.Get(keyID)); s.id != "" {
			return nil
		}
		s.id = rand.Text()
		return conf.Put(keyID, []byte(s.id))
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the cluster's state %s: %w", path, err), db.Close())
	}
	return s, nil
}

// cluster is the one that the node belongs to; empty: to none yet.
func (s *store) cluster() string {
	text, _ := s.Get(keyCluster)
	return string(text)
}

func (s *store) setCluster(cluster string) error { return s.Set(keyCluster, []byte(cluster)) }

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// edge is the index of the first entry, or the last.
func (s *store) edge(of func(*bbolt.Cursor) ([]byte, []byte)) (index uint64, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		if key, _ := of(tx.Bucket(bucketLogs).Cursor()); key != nil {
			index = binary.BigEndian.Uint64(key)
		}
		return nil
	})
	return index, err
}

// FirstIndex is that of the first entry, 0 without one.
func (s *store) FirstIndex() (uint64, error) { return s.edge((*bbolt.Cursor).First) }

// LastIndex is that of the last entry, 0 without one.
func (s *store) LastIndex() (uint64, error) { return s.edge((*bbolt.Cursor).Last) }

// GetLog reads an entry.
func (s *store) GetLog(index uint64, log *raft.Log) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		text := tx.Bucket(bucketLogs).Get(number(index))
		if text == nil {
			return raft.ErrLogNotFound
		}
		return json.Unmarshal(text, log)
	})
}

// StoreLog writes an entry.
func (s *store) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

// StoreLogs writes entries.
func (s *store) StoreLogs(logs []*raft.Log) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		for _, log := range logs {
			text, err := json.Marshal(log)
			if err != nil {
				return err
			}
			if err := tx.Bucket(bucketLogs).Put(number(log.Index), text); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteRange deletes entries, the last one included.
func (s *store) DeleteRange(from, to uint64) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		logs := tx.Bucket(bucketLogs)
		cursor := logs.Cursor()
		var keys [][]byte
		for key, _ := cursor.Seek(number(from)); key != nil && binary.BigEndian.Uint64(key) <= to; key, _ = cursor.Next() {
			keys = append(keys, append([]byte{}, key...))
		}
		for _, key := range keys {
			if err := logs.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}

// Set writes a value, a vote among them.
func (s *store) Set(key, value []byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketConf).Put(key, value) })
}

// Get reads a value.
func (s *store) Get(key []byte) (value []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		if text := tx.Bucket(bucketConf).Get(key); text != nil {
			value = append([]byte{}, text...)
			return nil
		}
		return errNotFound
	})
	return value, err
}

// SetUint64 writes a number, a term among them.
func (s *store) SetUint64(key []byte, value uint64) error { return s.Set(key, number(value)) }

// GetUint64 reads a number.
func (s *store) GetUint64(key []byte) (uint64, error) {
	text, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(text) != len(number(0)) {
		return 0, fmt.Errorf("the cluster's state has %d bytes for a number", len(text))
	}
	return binary.BigEndian.Uint64(text), nil
}

// close lets go of the file.
func (s *store) close() error { return s.db.Close() }
