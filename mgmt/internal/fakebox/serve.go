// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"time"

	"sallyport/mgmt/internal/transport"
)

// Serve answers the simulator's protocol on a listener until that is closed.
func (b *Box) Serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		b.serveOne(conn)
		conn.Close()
	}
}

func (b *Box) serveOne(conn net.Conn) {
	request := make([]byte, 12)
	requests, responses := bufio.NewReader(conn), bufio.NewWriter(conn)
	for {
		if requests.Buffered() < len(request) && responses.Flush() != nil {
			return
		}
		if _, err := io.ReadFull(requests, request); err != nil {
			return
		}
		op := transport.Op{
			Write: request[0] == 2, Chip: transport.Chip(request[1]),
			Addr: binary.LittleEndian.Uint32(request[4:]), Data: binary.LittleEndian.Uint32(request[8:]),
		}
		if request[0] == 4 {
			op.Until = op.Data
		}
		status := uint32(0)
		ops := []transport.Op{op}
		if request[0] == 3 {
			_ = b.Wait(time.Duration(op.Data)) // never fails
		} else if request[0] < 1 || request[0] > 4 || request[1] > 2 {
			status = 0xFFFFFFFF
		} else if b.Do(ops) != nil {
			status = 2
		}
		response := binary.LittleEndian.AppendUint32(nil, status)
		response = binary.LittleEndian.AppendUint32(response, ops[0].Data)
		_, _ = responses.Write(response) // Flush says whether that failed
	}
}
