// Prints fn/packwise/validate/go_types.py: the fields of the Kubernetes types in workloads, as Go decodes them.
package main

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"

	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
)

const head = `"""The fields of the Kubernetes types in workloads, as Go decodes them.

Written by %[1]smake go-types%[1]s from k8s.io/api %[2]s (Apache-2.0, The Kubernetes Authors), never by hand.
"""
# ruff: noqa: E501

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPES: Mapping[str, str] = {
`

const tail = `}
"""The fields of each Go struct, as JSON names in alphabetical order. The Go type of a field follows after a colon.

A named type that is not a key of this mapping is a string, except a few types with their own JSON decoder. A pointer is
written as the type of its target.
"""
`

// These read themselves from JSON: their fields are not the JSON's.
var leaves = map[string]bool{
	"resource.Quantity": true, "intstr.IntOrString": true, "v1.Time": true, "v1.FieldsV1": true,
	"runtime.RawExtension": true,
}

func main() {
	found := map[string]string{}
	walk(reflect.TypeFor[core.PodSpec](), found)
	walk(reflect.TypeFor[autoscaling.MetricSpec](), found)
	walk(reflect.TypeFor[resource.ResourceClaimSpec](), found)
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Printf(head, "`", version())
	for _, name := range names {
		fmt.Printf("    %q: %q,\n", name, found[name])
	}
	fmt.Print(tail)
}

func walk(struct_ reflect.Type, found map[string]string) {
	name := struct_.String()
	if _, seen := found[name]; seen || leaves[name] {
		return
	}
	found[name] = ""
	fields := fieldsOf(struct_, found)
	sort.Strings(fields)
	found[name] = strings.Join(fields, " ")
}

func fieldsOf(struct_ reflect.Type, found map[string]string) []string {
	var fields []string
	for field := range struct_.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if name == "" && field.Anonymous {
			// Go decodes the fields of an embedded struct as if they were the outer one's.
			fields = append(fields, fieldsOf(inner, found)...)
			continue
		}
		fields = append(fields, name+":"+strings.ReplaceAll(inner.String(), " ", ""))
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			walk(inner, found)
		}
	}
	return fields
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/api" {
			return module.Version
		}
	}
	return ""
}
