// SPDX-License-Identifier: Apache-2.0

package mesh

import (
	"context"
	"net"
	"sync"
	"time"
)

// mostQueued is how many packets wait for a node, and mostSenders how many nodes have a queue.
const (
	mostQueued  = 64
	mostSenders = 256
)

// Post sends packets to nodes and gives those that come, as datagrams: one that finds no room is
// lost.
type Post struct {
	mesh *Mesh
	got  func(packet []byte, from net.Addr)

	mu      sync.Mutex
	senders map[string]chan []byte
}

// NewPost makes the post of a mesh. It calls got with each packet that comes.
func (m *Mesh) NewPost(got func(packet []byte, from net.Addr)) *Post {
	p := &Post{mesh: m, got: got, senders: map[string]chan []byte{}}
	go func() {
		for {
			select {
			case conn := <-m.Arrived(Packets):
				go p.receive(conn)
			case <-m.ctx.Done():
				return
			}
		}
	}()
	return p
}

func (p *Post) receive(conn net.Conn) {
	defer conn.Close()
	for {
		_ = conn.SetReadDeadline(time.Now().Add(idleFor))
		packet, err := readFrame(conn, mostPacket)
		if err != nil {
			return
		}
		p.got(packet, conn.RemoteAddr())
	}
}

// Send sends a packet to an address.
func (p *Post) Send(packet []byte, address string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue, there := p.senders[address]
	if !there {
		if len(p.senders) >= mostSenders {
			return errBusy
		}
		queue = make(chan []byte, mostQueued)
		p.senders[address] = queue
		go p.run(address, queue)
	}
	select {
	case queue <- append([]byte(nil), packet...):
	default:
	}
	return nil
}

// run sends the packets of a queue, until none has come for a while. Those that wait for a node
// out of reach are lost.
func (p *Post) run(address string, queue chan []byte) {
	var conn *Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	for {
		select {
		case packet := <-queue:
			conn = p.deliver(conn, address, packet)
		case <-time.After(idleFor / 2):
			p.mu.Lock()
			if len(queue) == 0 {
				delete(p.senders, address)
				p.mu.Unlock()
				return
			}
			p.mu.Unlock()
		case <-p.mesh.ctx.Done():
			return
		}
	}
}

func (p *Post) deliver(conn *Conn, address string, packet []byte) *Conn {
	if conn == nil {
		var err error
		if conn, err = p.mesh.Dial(context.Background(), address, Packets); err != nil {
			return nil
		}
	}
	_ = conn.SetWriteDeadline(time.Now().Add(p.mesh.rules.Timeout))
	if err := writeFrame(conn, packet, mostPacket); err != nil {
		conn.Close()
		return nil
	}
	return conn
}
