// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// scrape is what Prometheus gets of at most so many SAs.
func scrape(t *testing.T, source Source, most int) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewSAs(source, most))
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// TestSAs: each SA has its counts and limits, of more than there may be the oldest, and Prometheus'
// own linter finds nothing to say.
func TestSAs(t *testing.T) {
	fake := fakebox.New(fakebox.Small)
	chips, err := chip.Open(t.Context(), fake)
	if err != nil {
		t.Fatal(err)
	}
	s := &session.Session{Box: chips, StatePath: filepath.Join(t.TempDir(), "state")}
	if err := s.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := daemon.New(s, slog.New(slog.NewTextHandler(io.Discard, nil)), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	commands, err := xfrm.ParseBatch("f", []byte("addr add 192.0.2.1/24 dev black\n"+
		testbox.Limited("add", "in", 9, "limit time-hard 3600 limit packet-hard 500 limit byte-hard 70000")+testbox.Limited("add", "out", 11, "")+testbox.Limited("add", "in", 13, "")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Run(commands, session.Lists{}); err != nil {
		t.Fatal(err)
	}
	carried := make([]uint32, regs.InnerTableOutboundUsage.Words())
	regs.SaUsageRow.Packets.Put(carried, 5)
	regs.SaUsageRow.Bytes.Put(carried, 1234)
	fake.Table(transport.Inner, regs.InnerTableOutboundUsage)[0] = carried
	text := scrape(t, d, 2)
	list, _, err := d.SAs(1)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	in, out := `{dir="in",dst="192.0.2.10",reqid="9",spi="0x9",src="192.0.2.9"} `, `{dir="out",dst="192.0.2.12",reqid="11",spi="0xb",src="192.0.2.11"} `
	for _, want := range []string{
		"packets_total" + out + "5", "bytes_total" + out + "1234", "limit_packets" + in + "500", "limit_bytes" + in + "70000",
		fmt.Sprintf("end_timestamp_seconds%s%v", in, float64(list[0].Added+3600)), fmt.Sprintf("added_timestamp_seconds%s%v", in, float64(list[0].Added)),
	} {
		if !strings.Contains(text, "sallyport_sa_"+want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if !strings.Contains(text, "sallyport_sas_without_metrics 1\n") || strings.Contains(text, `spi="0xd"`) || strings.Contains(text, "limit_packets"+out) {
		t.Error(text)
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Error(err, problems)
	}
	if text := scrape(t, d, 0); strings.Contains(text, "spi=") || !strings.Contains(text, "sallyport_sas_without_metrics 3\n") {
		t.Error(text)
	}
}

type broken struct{}

func (broken) SAs(int) ([]session.InstalledSA, int, error) {
	return nil, 0, errors.New("the bus is gone")
}

// TestBroken: a scrape says that the chips do not answer.
func TestBroken(t *testing.T) {
	if text := scrape(t, broken{}, 1); !strings.Contains(text, "the bus is gone") {
		t.Error(text)
	}
}
