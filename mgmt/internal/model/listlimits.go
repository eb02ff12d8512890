// SPDX-License-Identifier: Apache-2.0

package model

// The objects of `sallyctl -j` for what iproute2 does not have.
type (
	bucketJSON struct {
		Group string  `json:"group"`
		Dev   string  `json:"dev"`
		Rate  *uint32 `json:"rate"` // null: unlimited
		Burst uint32  `json:"burst"`
	}
	reassemblyJSON struct {
		Timeout   int64  `json:"timeout_ms"`
		PerSource uint32 `json:"per_source"`
	}
	qosJSON struct {
		DSCP []string `json:"dscp"`
	}
	skipHeadersJSON struct {
		Skipped []string `json:"skip_headers"`
	}
)

// object gives what a show command lists.
func (m *Model) object(what string) any {
	switch what {
	case "addr":
		return m.addrObjects()
	case "link":
		return m.deviceObjects()
	case "route":
		return m.routeObjects()
	case "neigh":
		return m.neighObjects()
	case "punt":
		return m.bucketObjects()
	case "reassembly":
		return reassemblyJSON{m.Reassembly.TimeoutOrDefault().Milliseconds(), m.Reassembly.PerSourceOrDefault()}
	case "qos":
		return qosJSON{words(m.PriorityDSCPs().String(), " ")}
	}
	return skipHeadersJSON{words(m.SkippedHeaders().String(), ",")}
}

func (m *Model) bucketObjects() (out []bucketJSON) {
	for _, b := range Buckets {
		limit := m.Limit(b)
		o := bucketJSON{Group: b.Group, Dev: b.Dev, Burst: limit.Burst}
		if limit.Rate != 0 {
			o.Rate = &limit.Rate
		}
		out = append(out, o)
	}
	return out
}
