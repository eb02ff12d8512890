// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"sallyport/mgmt/internal/mesh"
)

// raftLayer is the mesh as raft uses it.
type raftLayer struct {
	mesh    *mesh.Mesh
	address net.Addr
	ctx     context.Context
	end     func()
}

// Accept waits for a connection of another node's raft.
func (l *raftLayer) Accept() (net.Conn, error) {
	select {
	case conn := <-l.mesh.Arrived(mesh.Raft):
		return conn, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *raftLayer) Close() error {
	l.end()
	return nil
}

// Addr is where other nodes reach this one.
func (l *raftLayer) Addr() net.Addr { return l.address }

// Dial opens a connection to another node's raft.
func (l *raftLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(l.ctx, timeout)
	defer cancel()
	return l.mesh.Dial(ctx, string(address), mesh.Raft)
}

// gossip is the mesh as memberlist uses it.
type gossip struct {
	mesh    *mesh.Mesh
	post    *mesh.Post
	address netip.AddrPort
	packets chan *memberlist.Packet
	streams chan net.Conn
	ctx     context.Context
}

// mostPackets is how many wait for memberlist; more are lost.
const mostPackets = 256

// mostStream is how much a stream of memberlist may bring, in bytes: the states of all nodes.
const mostStream = 1 << 20

func newGossip(ctx context.Context, m *mesh.Mesh, address netip.AddrPort) *gossip {
	g := &gossip{mesh: m, address: address, packets: make(chan *memberlist.Packet, mostPackets), streams: make(chan net.Conn), ctx: ctx}
	g.post = m.NewPost(func(packet []byte, from net.Addr) {
		select {
		case g.packets <- &memberlist.Packet{Buf: packet, From: from, Timestamp: time.Now()}:
		default:
		}
	})
	go func() {
		for {
			select {
			case conn := <-m.Arrived(mesh.Streams):
				select {
				case g.streams <- bounded(conn):
				case <-ctx.Done():
					conn.Close()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return g
}

// boundedConn brings no more than so many bytes.
type boundedConn struct {
	net.Conn
	in io.Reader
}

// Read reads.
func (b *boundedConn) Read(p []byte) (int, error) { return b.in.Read(p) }

func bounded(conn net.Conn) net.Conn { return &boundedConn{conn, io.LimitReader(conn, mostStream)} }

// FinalAdvertiseAddr is where other nodes reach this one.
func (g *gossip) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return g.address.Addr().AsSlice(), int(g.address.Port()), nil
}

// WriteTo sends a packet.
func (g *gossip) WriteTo(b []byte, address string) (time.Time, error) {
	return time.Now(), g.post.Send(b, address)
}

// PacketCh has the packets that come.
func (g *gossip) PacketCh() <-chan *memberlist.Packet { return g.packets }

// DialTimeout opens a stream.
func (g *gossip) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(g.ctx, timeout)
	defer cancel()
	conn, err := g.mesh.Dial(ctx, address, mesh.Streams)
	if err != nil {
		return nil, err
	}
	return bounded(conn), nil
}

// StreamCh has the streams that come.
func (g *gossip) StreamCh() <-chan net.Conn { return g.streams }

// Shutdown is the mesh's to do.
func (g *gossip) Shutdown() error { return nil }
