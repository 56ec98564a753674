// Command kyaml-oracle answers what a text means to kyaml, so that tests can hold krmfn's reading and writing to it.
//
// Each line on stdin is a JSON object {"mode", "text"}; each line on stdout is the answer to it, {"value"}, {"text"} or
// {"error"}. Modes:
//
//	document  the value of the one YAML document, as go yaml.v3 decodes the node that kyaml holds
//	list      the items of a ResourceList and its functionConfig, as kio.ByteReader unwraps them
//	rewrite   the ResourceList as kio.ByteReadWriter writes it again, which is what a function gets from kustomize
//
// A value is a list that starts with its type: ["null"], ["bool", true], ["int", "1"], ["float", "1.5"], ["str", "a"],
// ["list", [...]], ["map", [[key, value], ...]] in the order of the keys' bytes. Dates are the text that the node holds.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

type question struct {
	Mode string `json:"mode"`
	Text string `json:"text"`
}

type answer struct {
	Value any     `json:"value,omitempty"`
	Text  *string `json:"text,omitempty"`
	Error string  `json:"error,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var asked question
			if err := json.Unmarshal(line, &asked); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(2)
			}
			if err := out.Encode(reply(asked)); err != nil {
				os.Exit(2)
			}
		}
		if err != nil {
			return
		}
	}
}

func reply(asked question) (found answer) {
	defer func() {
		if problem := recover(); problem != nil {
			found = answer{Error: fmt.Sprint("panic: ", problem)}
		}
	}()
	var err error
	switch asked.Mode {
	case "document":
		found.Value, err = document(asked.Text)
	case "list":
		found.Value, err = list(asked.Text)
	case "rewrite":
		found.Text, err = rewrite(asked.Text)
	default:
		err = fmt.Errorf("unknown mode %q", asked.Mode)
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	return found
}

func document(text string) (any, error) {
	decoder := yaml.NewDecoder(bytes.NewBufferString(text))
	var node yaml.Node
	err := decoder.Decode(&node)
	if errors.Is(err, io.EOF) {
		return []any{"null"}, nil
	}
	if err != nil {
		return nil, err
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return nil, errors.New("more than one document")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return valueOf(&node)
}

func list(text string) (any, error) {
	reader := kio.ByteReader{Reader: bytes.NewBufferString(text), OmitReaderAnnotations: true}
	nodes, err := reader.Read()
	if err != nil {
		return nil, err
	}
	if reader.WrappingKind != kio.ResourceListKind {
		return nil, errors.New("not a ResourceList")
	}
	items := []any{}
	for _, node := range nodes {
		value, err := valueOf(node.YNode())
		if err != nil {
			return nil, err
		}
		items = append(items, value)
	}
	config := any([]any{"null"})
	if reader.FunctionConfig != nil {
		if config, err = valueOf(reader.FunctionConfig.YNode()); err != nil {
			return nil, err
		}
	}
	return []any{"list", []any{[]any{"list", items}, config}}, nil
}

func rewrite(text string) (*string, error) {
	var written bytes.Buffer
	both := kio.ByteReadWriter{Reader: bytes.NewBufferString(text), Writer: &written, KeepReaderAnnotations: true}
	nodes, err := both.Read()
	if err != nil {
		return nil, err
	}
	if err := both.Write(nodes); err != nil {
		return nil, err
	}
	result := written.String()
	return &result, nil
}

func valueOf(node *yaml.Node) (any, error) {
	keepDates(node, map[*yaml.Node]bool{})
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, err
	}
	return typed(value)
}

// keepDates makes text of dates, which decoding would make times of.
func keepDates(node *yaml.Node, seen map[*yaml.Node]bool) {
	if node == nil || seen[node] {
		return
	}
	seen[node] = true
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!timestamp" {
		node.Tag = "!!str"
	}
	keepDates(node.Alias, seen)
	for _, child := range node.Content {
		keepDates(child, seen)
	}
}

func typed(value any) (any, error) {
	switch value := value.(type) {
	case nil:
		return []any{"null"}, nil
	case bool:
		return []any{"bool", value}, nil
	case string:
		return []any{"str", value}, nil
	case int:
		return []any{"int", strconv.FormatInt(int64(value), 10)}, nil
	case int64:
		return []any{"int", strconv.FormatInt(value, 10)}, nil
	case uint64:
		return []any{"int", strconv.FormatUint(value, 10)}, nil
	case float64:
		return []any{"float", strconv.FormatFloat(value, 'g', -1, 64)}, nil
	case []any:
		items := []any{}
		for _, item := range value {
			each, err := typed(item)
			if err != nil {
				return nil, err
			}
			items = append(items, each)
		}
		return []any{"list", items}, nil
	case map[string]any:
		return mapping(len(value), func(put func(any, any) error) error {
			for key, item := range value {
				if err := put(key, item); err != nil {
					return err
				}
			}
			return nil
		})
	case map[any]any:
		return mapping(len(value), func(put func(any, any) error) error {
			for key, item := range value {
				if err := put(key, item); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return nil, fmt.Errorf("unknown type %T", value)
}

func mapping(size int, each func(put func(key, item any) error) error) (any, error) {
	pairs := make([][]any, 0, size)
	seen := map[string]bool{}
	err := each(func(key, item any) error {
		name, err := keyText(key)
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("two keys become %q", name)
		}
		seen[name] = true
		value, err := typed(item)
		if err != nil {
			return err
		}
		pairs = append(pairs, []any{name, value})
		return nil
	})
	if err != nil {
		return nil, err
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i][0].(string) < pairs[j][0].(string) })
	return []any{"map", pairs}, nil
}

// keyText is the JSON key that sigs.k8s.io/yaml makes of a YAML key.
func keyText(key any) (string, error) {
	switch key := key.(type) {
	case string:
		return key, nil
	case bool:
		return strconv.FormatBool(key), nil
	case int:
		return strconv.Itoa(key), nil
	case int64:
		return strconv.FormatInt(key, 10), nil
	case uint64:
		return strconv.FormatUint(key, 10), nil
	case float64:
		if math.IsNaN(key) || math.IsInf(key, 0) {
			return "", errors.New("a key that is no number")
		}
		text := strconv.FormatFloat(key, 'g', -1, 32)
		if special, found := map[string]string{"+Inf": ".inf", "-Inf": "-.inf"}[text]; found {
			return special, nil
		}
		return text, nil
	}
	return "", fmt.Errorf("a key of type %T", key)
}
