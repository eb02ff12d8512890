// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	requestBytes  = 12
	responseBytes = 8
	opRead        = 1
	opWrite       = 2
	opWait        = 3
	opReadUntil   = 4
	// badRequest is the simulator's status for a request that makes no sense.
	badRequest = 0xFFFFFFFF
)

// MostTogether is how many accesses of one caller go before the next caller's. A live simulation
// takes 0.3 ms for each, so a batch of thousands would keep a short question waiting for seconds.
const MostTogether = 64

// Socket speaks the simulator's register protocol (docs/reference/simulator-sockets.md). Do and
// Wait may be called by several goroutines at once, and take turns of at most MostTogether
// accesses, in the order in which they came.
type Socket struct {
	turn    chan struct{} // who has its element has both directions
	conn    net.Conn
	answers *bufio.Reader // of conn: the simulator sends those of a batch together
	path    string
	// Patience is how long an answer may take. A run may keep accesses waiting until it ends.
	Patience time.Duration

	stop    context.Context // its end shortens Patience to grace
	unwatch func() bool     // forgets stop
	bound   sync.Mutex      // of the connection's deadline
}

// patience is that of a socket which is not told another one: no run of a test is as long.
const patience = 30 * time.Minute

// grace is how long an answer may take once the program is to end: a simulator between its runs
// answers at once.
const grace = 2 * time.Second

// Refusal is the status of an access that the simulator, or a chip of its, refused: an AXI
// response, if it is no badRequest.
type Refusal uint32

func (r Refusal) Error() string {
	if r == badRequest {
		return "the simulator refused the request"
	}
	return fmt.Sprintf("AXI response %d", uint32(r))
}

// DialSocket connects to the simulator's socket of one box. Once ctx ends, accesses go on, but each
// may take no more than 2 s, and the one under way too.
func DialSocket(ctx context.Context, path string) (*Socket, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the simulator at %s: %w", path, err)
	}
	s := &Socket{turn: make(chan struct{}, 1), conn: conn, answers: bufio.NewReader(conn), path: path, Patience: patience, stop: ctx}
	s.turn <- struct{}{}
	s.unwatch = context.AfterFunc(ctx, s.setDeadline)
	return s, nil
}

// setDeadline says until when an access may take.
func (s *Socket) setDeadline() {
	s.bound.Lock()
	defer s.bound.Unlock()
	_ = s.conn.SetDeadline(time.Now().Add(s.most()))
}

// most is how long an answer may take now.
func (s *Socket) most() time.Duration {
	if s.stop.Err() != nil {
		return min(s.Patience, grace)
	}
	return s.Patience
}

// Do performs accesses in turns with other callers.
func (s *Socket) Do(ops []Op) error {
	for _, op := range ops {
		if err := op.check(); err != nil {
			return err
		}
	}
	for together := range slices.Chunk(ops, MostTogether) {
		if err := s.together(together); err != nil {
			return err
		}
	}
	return nil
}

// together sends all requests ahead while it collects the responses, so that they cost one round
// trip.
func (s *Socket) together(ops []Op) error {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	request := make([]byte, 0, requestBytes*len(ops))
	defer func() { clear(request[:cap(request)]) }() // it may have carried a key
	for i, op := range ops {
		kind, data := byte(opRead), uint32(0)
		switch {
		case op.Write:
			kind, data = opWrite, op.Data
		case op.Until != 0:
			kind, data = opReadUntil, op.Until
		}
		request = append(request, kind, byte(op.Chip))
		request = binary.LittleEndian.AppendUint16(request, uint16(len(ops)-1-i))
		request = binary.LittleEndian.AppendUint32(request, op.Addr)
		request = binary.LittleEndian.AppendUint32(request, data)
	}
	s.setDeadline()
	sent := make(chan error, 1)
	go func() {
		_, err := s.conn.Write(request)
		sent <- err
	}()
	failed := s.collect(ops)
	if failed != nil && failed.broken {
		s.conn.Close() // ends a writer that still waits
	}
	if err := <-sent; err != nil && failed == nil {
		return fmt.Errorf("%s: sending register requests: %w", s.path, err)
	}
	if failed != nil {
		return failed.err
	}
	return nil
}

type failure struct {
	err    error
	broken bool // the connection is of no more use
}

// collect reads every response, also after a failed one, so that the next call starts in step.
func (s *Socket) collect(ops []Op) *failure {
	var first *failure
	response := make([]byte, responseBytes)
	for i := range ops {
		if _, err := io.ReadFull(s.answers, response); err != nil {
			return &failure{fmt.Errorf("%s: %s: %w", s.path, ops[i].describe(), s.silent(err)), true}
		}
		status := binary.LittleEndian.Uint32(response)
		if status != 0 && first == nil {
			first = &failure{fmt.Errorf("%s: %s: %w", s.path, ops[i].describe(), Refusal(status)), false}
		}
		if !ops[i].Write {
			ops[i].Data = binary.LittleEndian.Uint32(response[4:])
		}
	}
	return first
}

// silent says why no answer came.
func (s *Socket) silent(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && s.stop.Err() != nil:
		return fmt.Errorf("the simulator has not answered within %v of this program's end", s.most())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the simulator has not answered for %v: end its run, or start it again", s.Patience)
	}
	return fmt.Errorf("the simulator closed the connection: %w", err)
}

// Wait lets simulated time pass. Where it cannot, between runs, nothing is under way.
func (s *Socket) Wait(d time.Duration) error {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	s.setDeadline()
	request := make([]byte, requestBytes)
	request[0] = opWait
	binary.LittleEndian.PutUint32(request[8:], uint32(d.Nanoseconds()))
	if _, err := s.conn.Write(request); err != nil {
		return fmt.Errorf("%s: asking to wait: %w", s.path, err)
	}
	response := make([]byte, responseBytes)
	if _, err := io.ReadFull(s.answers, response); err != nil {
		s.conn.Close() // a late answer would be taken for another one
		return fmt.Errorf("%s: waiting: %w", s.path, s.silent(err))
	}
	if status := binary.LittleEndian.Uint32(response); status != 0 {
		return fmt.Errorf("%s: the simulator refused to wait", s.path)
	}
	return nil
}

// Close ends the connection.
func (s *Socket) Close() error {
	s.unwatch()
	return s.conn.Close()
}
