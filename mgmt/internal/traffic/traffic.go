// SPDX-License-Identifier: Apache-2.0

// Package traffic tells Prometheus what each SA carries, and how long it lives.
package traffic

import (
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"sallyport/mgmt/internal/session"
)

// Source has the SAs of a box: at most so many, the oldest, and how many more there are.
type Source interface {
	SAs(most int) (first []session.InstalledSA, more int, err error)
}

// SAs reads the chips when Prometheus asks. An SA's labels are its own, so each rekey makes new
// series; `most` bounds how many there are at a time.
type SAs struct {
	source Source
	most   int

	packets, bytes, added, ends, packetLimit, byteLimit, more *prometheus.Desc
}

// NewSAs describes what there is to tell of at most so many SAs.
func NewSAs(source Source, most int) *SAs {
	of := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("sallyport_sa_"+name, help, []string{"dir", "src", "dst", "spi", "reqid"}, nil)
	}
	return &SAs{
		source: source, most: most,
		packets:     of("packets_total", "Packets that an SA has carried."),
		bytes:       of("bytes_total", "Bytes that an SA has carried, as its limits count them."),
		added:       of("added_timestamp_seconds", "When an SA was added."),
		ends:        of("end_timestamp_seconds", "When an SA ends by time-hard, if it has that limit."),
		packetLimit: of("limit_packets", "The packets after which an SA ends, if it has that limit."),
		byteLimit:   of("limit_bytes", "The bytes after which an SA ends, if it has that limit."),
		more:        prometheus.NewDesc("sallyport_sas_without_metrics", "SAs that have no metrics of their own, because there are more than the configuration allows.", nil, nil),
	}
}

// Describe lists what Collect gives.
func (s *SAs) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{s.packets, s.bytes, s.added, s.ends, s.packetLimit, s.byteLimit, s.more} {
		out <- desc
	}
}

// Collect reads the counts of each SA. If the chips do not answer, the scrape says why.
func (s *SAs) Collect(out chan<- prometheus.Metric) {
	list, more, err := s.source.SAs(s.most)
	if err != nil {
		out <- prometheus.NewInvalidMetric(s.more, err)
		return
	}
	out <- prometheus.MustNewConstMetric(s.more, prometheus.GaugeValue, float64(more))
	for _, sa := range list {
		labels := []string{string(sa.Dir), sa.Src.String(), sa.Dst.String(), fmt.Sprintf("%#x", sa.SPI), strconv.FormatUint(uint64(sa.ReqID), 10)}
		tell := func(desc *prometheus.Desc, kind prometheus.ValueType, value uint64) {
			out <- prometheus.MustNewConstMetric(desc, kind, float64(value), labels...)
		}
		tell(s.packets, prometheus.CounterValue, sa.Packets)
		tell(s.bytes, prometheus.CounterValue, sa.Bytes)
		tell(s.added, prometheus.GaugeValue, uint64(sa.Added))
		if hard := sa.Limits.Time.Hard; hard != 0 {
			tell(s.ends, prometheus.GaugeValue, uint64(sa.Added)+hard)
		}
		if sa.Limits.PacketHard != 0 {
			tell(s.packetLimit, prometheus.GaugeValue, sa.Limits.PacketHard)
		}
		if sa.Limits.ByteHard != 0 {
			tell(s.byteLimit, prometheus.GaugeValue, sa.Limits.ByteHard)
		}
	}
}
