// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"sallyport/mgmt/api"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/wire"
)

// methods are those of the API, for one daemon. Each is a request of the control socket in another
// form, and the daemon carries it out in the same place.
type methods struct {
	daemon  *daemon.Daemon
	version string // of the daemon
	keys    *keyring
}

// message is a pointer to a message.
type message[M any] interface {
	*M
	proto.Message
}

// answer has the daemon carry a request out, and makes the message of what it answers.
func answer[M any, P message[M]](s *methods, ctx context.Context, who caller.Caller, do string, request any) (P, error) {
	begun(ctx)
	result, err := s.daemon.Do(who, do, request)
	if err != nil {
		return nil, failure(err)
	}
	m := P(new(M))
	if err := wire.Fill(m, result); err != nil {
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	return m, nil
}

func (s *methods) GetVersion(ctx context.Context, _ *sallyportv1.GetVersionRequest) (*sallyportv1.GetVersionResponse, error) {
	begun(ctx)
	return &sallyportv1.GetVersionResponse{Api: api.Version, Daemon: s.version}, nil
}

func (s *methods) GetSealingKey(ctx context.Context, _ *sallyportv1.GetSealingKeyRequest) (*sallyportv1.GetSealingKeyResponse, error) {
	begun(ctx)
	return s.keys.public(), nil
}

func (s *methods) Batch(ctx context.Context, r *sallyportv1.BatchRequest) (*sallyportv1.BatchResponse, error) {
	lines, who, err := s.lines(ctx, "Batch", r.Lines, r.Sealed)
	if err != nil {
		return nil, err
	}
	return answer[sallyportv1.BatchResponse](s, ctx, who, control.DoBatch, &control.Batch{Lines: lines, File: r.File})
}

func (s *methods) Command(ctx context.Context, r *sallyportv1.CommandRequest) (*sallyportv1.CommandResponse, error) {
	words, who, err := s.lines(ctx, "Command", r.Words, r.Sealed)
	if err != nil {
		return nil, err
	}
	return answer[sallyportv1.CommandResponse](s, ctx, who, control.DoCommand, &control.Command{Words: words, Statistics: r.Statistics, JSON: r.Json})
}

// lines are those of a request, open or sealed. Open ones are in memory that is not wiped, so they
// may hold no keys; the daemon wipes the others.
func (s *methods) lines(ctx context.Context, method string, open []string, sealed *sallyportv1.Sealed) (lines []control.Line, who caller.Caller, err error) {
	who = partyOf(ctx).caller
	if sealed == nil {
		for _, line := range open {
			lines = append(lines, control.Line(line))
		}
		return lines, who.Keyless(), nil
	}
	if len(open) > 0 {
		return nil, who, errorf(connect.CodeInvalidArgument, "the request has open text beside sealed text: send one of them")
	}
	text, err := s.keys.open(sealed, method)
	if err != nil {
		return nil, who, err
	}
	for line := range bytes.Lines(text) {
		lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return lines, who, nil
}

func (s *methods) AllocSpi(ctx context.Context, r *sallyportv1.AllocSpiRequest) (*sallyportv1.AllocSpiResponse, error) {
	return answer[sallyportv1.AllocSpiResponse](s, ctx, partyOf(ctx).caller, control.DoAllocSPI, &control.AllocSPI{Src: r.Src, Dst: r.Dst, Min: r.Min, Max: r.Max})
}

func (s *methods) QueryState(ctx context.Context, r *sallyportv1.QueryStateRequest) (*sallyportv1.QueryStateResponse, error) {
	return answer[sallyportv1.QueryStateResponse](s, ctx, partyOf(ctx).caller, control.DoQueryState, &control.QueryState{Src: r.Src, Dst: r.Dst, Proto: r.Proto, SPI: r.Spi})
}

func (s *methods) QueryPolicy(ctx context.Context, r *sallyportv1.QueryPolicyRequest) (*sallyportv1.QueryPolicyResponse, error) {
	word := func(text string) control.Word { return control.Word(text) }
	return answer[sallyportv1.QueryPolicyResponse](s, ctx, partyOf(ctx).caller, control.DoQueryPolicy, &control.QueryPolicy{
		Src: word(r.Src), Dst: word(r.Dst), Dev: word(r.Dev), Proto: word(r.Proto), SPort: word(r.Sport), DPort: word(r.Dport),
		Type: word(r.Type), Code: word(r.Code), Dir: word(r.Dir), IfID: word(r.IfId),
	})
}

func (s *methods) Advance(ctx context.Context, r *sallyportv1.AdvanceRequest) (*sallyportv1.AdvanceResponse, error) {
	state := control.QueryState{Src: r.Src, Dst: r.Dst, Proto: r.Proto, SPI: r.Spi}
	return answer[sallyportv1.AdvanceResponse](s, ctx, partyOf(ctx).caller, control.DoAdvance, &control.Advance{QueryState: state, Number: r.Number})
}

func (s *methods) List(ctx context.Context, r *sallyportv1.ListRequest) (*sallyportv1.ListResponse, error) {
	return answer[sallyportv1.ListResponse](s, ctx, partyOf(ctx).caller, control.DoList, &control.List{What: r.What})
}

func (s *methods) GetCounters(ctx context.Context, _ *sallyportv1.GetCountersRequest) (*sallyportv1.GetCountersResponse, error) {
	begun(ctx)
	result, err := s.daemon.Do(partyOf(ctx).caller, control.DoCounters, &control.Plain{})
	if err != nil {
		return nil, failure(err)
	}
	m := &sallyportv1.GetCountersResponse{}
	wire.FillCounters(m, result.(control.Counters))
	return m, nil
}

func (s *methods) GetCapabilities(ctx context.Context, _ *sallyportv1.GetCapabilitiesRequest) (*sallyportv1.GetCapabilitiesResponse, error) {
	return answer[sallyportv1.GetCapabilitiesResponse](s, ctx, partyOf(ctx).caller, control.DoCapabilities, &control.Plain{})
}

func (s *methods) GetCards(ctx context.Context, _ *sallyportv1.GetCardsRequest) (*sallyportv1.GetCardsResponse, error) {
	return answer[sallyportv1.GetCardsResponse](s, ctx, partyOf(ctx).caller, control.DoCards, &control.Plain{})
}

func (s *methods) Config(ctx context.Context, r *sallyportv1.ConfigRequest) (*sallyportv1.ConfigResponse, error) {
	request := &control.ConfigRequest{Verb: control.ConfigVerb(r.Verb), File: r.File, Confirm: int(r.Confirm)}
	for _, line := range r.Lines {
		request.Lines = append(request.Lines, control.Line(line))
	}
	return answer[sallyportv1.ConfigResponse](s, ctx, partyOf(ctx).caller, control.DoConfig, request)
}

func (s *methods) Pair(ctx context.Context, r *sallyportv1.PairRequest) (*sallyportv1.PairResponse, error) {
	return answer[sallyportv1.PairResponse](s, ctx, partyOf(ctx).caller, control.DoPair, &control.PairRequest{Verb: control.PairVerb(r.Verb)})
}

func (s *methods) SelfTest(ctx context.Context, r *sallyportv1.SelfTestRequest) (*sallyportv1.SelfTestResponse, error) {
	return answer[sallyportv1.SelfTestResponse](s, ctx, partyOf(ctx).caller, control.DoSelfTest, &control.SelfTestRequest{Run: r.Run})
}

func (s *methods) Watch(ctx context.Context, _ *sallyportv1.WatchRequest, stream *connect.ServerStream[sallyportv1.WatchResponse]) error {
	begun(ctx)
	events, leave := s.daemon.Monitor()
	defer leave()
	if err := stream.Send(nil); err != nil { // the headers
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return errorf(connect.CodeUnavailable, "the daemon ends")
		case e, ok := <-events:
			if !ok {
				return errorf(connect.CodeResourceExhausted, "the client is too many events behind, or the daemon ends")
			}
			m := &sallyportv1.WatchResponse{}
			if err := wire.FillEvent(m, e); err != nil {
				return connect.NewError(connect.CodeInternal, err)
			}
			if err := stream.Send(m); err != nil {
				return err
			}
		}
	}
}
