// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"sallyport/mgmt/internal/daemon"
)

var (
	described = regexp.MustCompile(`fqName: "([a-z0-9_]+)", .*constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)
	named     = regexp.MustCompile(`sallyport_[a-z0-9_]+`)
	pattern   = regexp.MustCompile(`__name__=~"([^"]*)"`)
	shown     = regexp.MustCompile(`\{\{ *\$?(?:labels\.)?([a-z_]+) *\}\}`)
	grouped   = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// metrics are all that a daemon may have, with their labels.
func metrics() map[string][]string {
	descs := make(chan *prometheus.Desc)
	go func() {
		daemon.NewMetrics(nil).Describe(descs)
		NewSAs(nil, 0).Describe(descs)
		close(descs)
	}()
	out := map[string][]string{}
	for desc := range descs {
		parts := described.FindStringSubmatch(desc.String())
		labels := []string{"instance", "job", "__name__"}
		for _, label := range strings.Split(parts[2]+","+parts[3], ",") {
			labels = append(labels, strings.TrimSpace(strings.Split(label, "=")[0]))
		}
		out[parts[1]] = labels
	}
	return out
}

// check wants every metric of an expression to exist, with the labels by which it is grouped or
// that a text shows.
func check(t *testing.T, all map[string][]string, expression, text string) {
	t.Helper()
	var of [][]string
	for _, match := range pattern.FindAllStringSubmatch(expression, -1) {
		whole, found := regexp.MustCompile("^(?:"+match[1]+")$"), false
		for name, labels := range all {
			if whole.MatchString(name) {
				of, found = append(of, labels), true
			}
		}
		if !found {
			t.Errorf("%s: no metric has such a name", expression)
		}
	}
	for _, name := range named.FindAllString(pattern.ReplaceAllString(expression, ""), -1) {
		if all[name] == nil {
			t.Errorf("%s: there is no metric %s", expression, name)
		}
		of = append(of, all[name])
	}
	if len(of) == 0 {
		t.Errorf("%s names no metric", expression)
	}
	var labels []string
	for _, match := range grouped.FindAllStringSubmatch(expression, -1) {
		labels = append(labels, strings.Split(match[1], ", ")...)
	}
	for _, match := range shown.FindAllStringSubmatch(text, -1) {
		labels = append(labels, match[1])
	}
	for _, label := range labels {
		for _, has := range of {
			if label != "value" && !slices.Contains(has, label) {
				t.Errorf("%s: a metric has no label %s", expression, label)
			}
		}
	}
}

// TestDashboard: each metric and label of the dashboard for Grafana exists, and its panels have
// numbers of their own.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../../docs/examples/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	all, numbers := metrics(), map[int]bool{}
	for _, panel := range board.Panels {
		if numbers[panel.ID] || len(panel.Targets) == 0 {
			t.Errorf("%s shows nothing, or has the number of another", panel.Title)
		}
		numbers[panel.ID] = true
		for _, target := range panel.Targets {
			check(t, all, target.Expr, target.LegendFormat)
		}
	}
	if len(board.Panels) < 10 {
		t.Errorf("there are %d panels", len(board.Panels))
	}
}

// TestAlerts: each metric and label of the packaged alerts exists. promtool judges the rest.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../packaging/sallyport.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	all, alerts := metrics(), 0
	for _, alert := range strings.Split(string(text), "- alert: ")[1:] {
		alerts++
		_, rest, _ := strings.Cut(alert, "expr: ")
		expression, summary, _ := strings.Cut(rest, "\n")
		check(t, all, expression, summary)
	}
	if alerts == 0 {
		t.Error("there are no alerts")
	}
}
