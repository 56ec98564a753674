"""The help texts of packwise and of each command, with examples that can be copied."""

from __future__ import annotations

__all__ = [
    "CACHE",
    "CACHE_EPILOG",
    "CHECK",
    "CHECK_EPILOG",
    "COMMENT",
    "COMMENT_EPILOG",
    "COMPLETION",
    "COMPLETION_EPILOG",
    "DIFF",
    "DIFF_EPILOG",
    "DOCTOR",
    "DOCTOR_EPILOG",
    "EPILOG",
    "FLEET",
    "FLEET_EPILOG",
    "FUNCTION",
    "FUNCTION_EPILOG",
    "HELP",
    "HELP_EPILOG",
    "INIT",
    "INIT_EPILOG",
    "MIGRATE",
    "MIGRATE_EPILOG",
    "PLACE",
    "PLACE_EPILOG",
    "RENDER",
    "RENDER_EPILOG",
    "REPORT",
    "REPORT_EPILOG",
    "RULES",
    "RULES_EPILOG",
    "SCHEMA",
    "SCHEMA_EPILOG",
    "TOPOLOGIES",
    "TOPOLOGIES_EPILOG",
    "TOPOLOGY",
    "TOPOLOGY_EPILOG",
    "VERSION",
    "VERSION_EPILOG",
]

EPILOG = """\
to begin with:
  packwise init clusters/west --for kustomize
  packwise doctor clusters/west

commands for people and CI:
  packwise render examples/disaggregated-inference -o rendered
  packwise check clusters/west --baseline ../main/clusters/west -o json
  packwise diff git:origin/main clusters/west
  packwise topologies clusters/west
  packwise explain PodGang/inference/llm-0 clusters/west
  packwise place clusters/west --nodes nodes.json
  packwise report clusters/west --nodes nodes.json -o report.html
  packwise rules topology-hierarchy
  packwise migrate clusters/west --to upstream --dry-run
  packwise fleet diff clusters --changed-since git:origin/main -o markdown

as a KRM function of kustomize and kpt:
  packwise fn

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""

RENDER = """\
Prints the whole result, your objects and the generated ones, or writes it into a folder. Yours keep every byte,
comments and all, but for the annotations that packwise adds to workloads. With an error nothing is printed or
written. A folder given with -o changes at once or not at all; its list of files, .packwise.sha256, tells packwise's
own from those of others, which stay."""

RENDER_EPILOG = """\
examples:
  packwise render examples/disaggregated-inference
  packwise render inference.yaml topology.yaml -o rendered
  packwise render --in-place clusters/west
  packwise render clusters/west -o rendered/west --check   # in CI: is what was committed what a render gives?
  kustomize build overlays/west | packwise render - --config topology.yaml | kubectl apply -f -

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""

CHECK = """\
Says what is wrong, and writes nothing but what --fix mends and the files that options name. Of findings that say the
same, the text shows the first few; infos, which ask for nothing, are counted. Other formats have every finding."""

CHECK_EPILOG = """\
examples:
  packwise check examples/disaggregated-inference
  packwise check clusters/west --baseline git:origin/main
  packwise check . --changed-since origin/main      # what a pull request reaches, of many clusters
  packwise check clusters/west -o github            # shown beside the changed lines of a pull request
  packwise check clusters/west -o text -o sarif=packwise.sarif -o junit=packwise.xml
  packwise check clusters/west --crds ../grove/operator/api/core/v1alpha1/crds
  packwise check clusters/west --fix --diff         # what --fix would change
  packwise check clusters/west --write-findings known.json
  packwise check clusters/west --known known.json   # what is new since
  packwise check clusters/west --ignore queue-missing --max-warnings 0
  kustomize build overlays/west | packwise check -
  packwise rules unknown-field                     # explains a finding that ends in [unknown-field]

exit codes: 0 no error, 1 errors were found or more warnings than --max-warnings, 2 wrong usage"""

DIFF = """\
Says what changes for the scheduler from A to B: topologies, gangs, groups and queues that are added, removed, changed
or must be re-created; constraints that are lost, and why; updates that the operator or an API server would refuse.
Sources are rendered first; what a cluster holds already, as in an export of kubectl, is compared as it is. Status and
what else a server fills in does not count."""

DIFF_EPILOG = """\
examples:
  packwise diff git:origin/main clusters/west            # what a pull request changes
  packwise diff git:v1.2:clusters/west git:main:clusters/west
  packwise diff clusters/west live.yaml                  # what the cluster has otherwise than Git
  kubectl get clustertopologies,topologies.kai.scheduler,podgangs -A -o yaml | packwise diff - clusters/west
  packwise diff git:main clusters/west -o json --exit-code
  packwise diff git:origin/main clusters/west -o markdown | gh pr comment --body-file -

exit codes: 0 no error, 1 errors were found (updates that are refused, sources that cannot be rendered), 2 wrong usage;
with --exit-code also 1 when anything changes"""

COMMENT = """\
Prints one comment for a pull request, in Markdown: what is wrong (check), what changes for the scheduler (diff, with
--baseline), where it places the gangs and what the change moves (place, with --nodes), in parts that fold. It is
shorter than what GitHub takes, whatever the change; its first line tells a bot which comment to update."""

COMMENT_EPILOG = """\
examples:
  packwise comment clusters/west --baseline git:origin/main > comment.md
  packwise comment clusters/west --baseline git:origin/main --nodes nodes.json > comment.md

exit codes: 0 no error, 1 errors were found, updates are refused or a gang does not fit, 2 wrong usage"""

EXPLAIN = """\
Says why the scheduler gets what it gets. Without an object: each workload with its gangs, their groups and sets of
pods, the levels that bound them, and what is missing. With an object: every value in it with the field it comes from,
the level it is looked up in, and the rule that makes it. With a line of a file: the values that come from it."""

EXPLAIN_EPILOG = """\
examples:
  packwise explain clusters/west
  packwise explain PodGang/inference/llm-0 clusters/west
  packwise explain PodCliqueSet/llm clusters/west            # its tree, and why something in it is missing
  packwise explain clusters/west/llm.yaml:27 clusters/west   # what this line causes
  packwise explain workflow/train pools train.yaml           # a workflow of OSMO
  packwise explain PodGang/inference/llm-0 clusters/west -o json

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""

TOPOLOGIES = """\
Lists the topologies, and which workload uses which: by its name, by default, or none. Topologies that nobody uses and
names that no topology has stand in it too."""

TOPOLOGIES_EPILOG = """\
examples:
  packwise topologies clusters/west
  kubectl get clustertopologies,podcliquesets,podcliques -A -o yaml | packwise topologies -
  packwise topologies clusters/west -o json

`packwise topology import` proposes the levels of one from the labels of nodes.

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""

TOPOLOGY = """\
Prints a TopologyRender with the levels that the labels of nodes show: zones, racks, topograph's labels of both
generations or its graph, any key that ends in such a word. Which of them nest is read from the nodes; those that
contradict are named. `packwise topologies` lists the topologies that your files have."""

TOPOLOGY_EPILOG = """\
examples:
  kubectl get nodes -o json | packwise topology import -
  packwise topology import nodes.json > topology.yaml
  packwise topology import topology.conf            # what topograph writes for Slurm

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""

PLACE = """\
Says where the KAI Scheduler puts each gang on the nodes of a cluster, or what is in its way: the algorithm of its
allocate action (v0.17), gang after gang in queue order. Pods in use count; nothing is evicted to make room."""

PLACE_EPILOG = """\
examples:
  kubectl get nodes,pods -A -o json > nodes.json
  packwise place clusters/west --nodes nodes.json
  packwise place clusters/west --nodes nodes.json --replicas llm/decode=6 --further
  packwise place clusters/west --nodes nodes.json --baseline git:origin/main   # what a change moves
  packwise place clusters/west --nodes nodes.json --drain example.com/rack=r7 -o json
  packwise place scenario.json -o json

exit codes: 0 all gangs fit, 1 one does not or errors were found, 2 wrong usage"""

CACHE = """\
Says how large the cache of a fleet is; `cache prune` removes the entries that were not used for longest. Runs share a
cache, and prune a folder themselves; a bucket they do not."""

CACHE_EPILOG = """\
examples:
  packwise cache
  packwise cache prune --max-size 500Mi
  packwise cache prune --cache s3://ci-cache/packwise --max-size 10Gi

exit codes: 0 no error, 1 the cache cannot be read or written, 2 wrong usage"""

MIGRATE = """\
Rewrites configuration, topologies and workloads in place for a later release of Grove: each field by its new name at
its old place, with every comment. What cannot be carried over is told. Where the scheduler would be told something
else, nothing is written."""

MIGRATE_EPILOG = """\
examples:
  packwise migrate clusters/west --to v0.1.0-alpha.13 --dry-run
  packwise migrate clusters/west --to v0.1.0-alpha.13
  packwise migrate workloads --from grep-244 --to v0.1.0-alpha.13         # the configuration stands elsewhere
  packwise migrate clusters/west --to v0.1.0-alpha.13 --keep-pack-domain  # for workloads that run, before --fix

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""

RULES = """\
Lists every rule that a finding can name, in the order they run; or explains the one of that name: why there is such a
rule, what to do, an example that fails and what the operator would say of it, an example that passes. Examples show
the fields that matter."""

RULES_EPILOG = """\
examples:
  packwise rules
  packwise rules topology-hierarchy
  packwise rules topology-hierarchy -o json

exit codes: 0 no error, 2 wrong usage"""

INIT = """\
Writes a package to begin with: the configuration, with comments; an example where the folder has no workload; what the
client named by --for reads. Levels, schedulers and the release are taken from what --from holds of the cluster. Nothing
that exists is overwritten: where one of the files is there, none is written. On a terminal, init asks for what no
option says."""

INIT_EPILOG = """\
examples:
  packwise init clusters/west --for kustomize
  packwise init clusters/west --level zone=topology.kubernetes.io/zone --level rack=example.com/rack
  kubectl get nodes,deployments,configmaps,clustertopologies -A -o yaml | packwise init clusters/west --from -
  packwise init clusters/west --for kpt --revision v0.1.0-alpha.13 --no-apply
  packwise init clusters/west --without-grove     # KAI groups Jobs, JobSets and others itself
  packwise init clusters/west --for github        # also where the package is there already

exit codes: 0 no error, 1 errors were found (what --from names cannot be read), 2 wrong usage"""

DOCTOR = """\
Says what packwise sees: files by kind, those that are left out and why, which configuration counts for which files,
the release of Grove and what chose it, whether generated objects are applied, which client would run packwise, and why
kustomize or kpt would pass over it. It judges no workload: that is `packwise check`."""

DOCTOR_EPILOG = """\
examples:
  packwise doctor
  packwise doctor clusters/west overlays/west
  packwise doctor -o json

exit codes: 0 no error, 1 errors were found (a client would not run packwise, a file cannot be read), 2 wrong usage"""

SCHEMA = """\
Prints a JSON Schema (draft 2020-12) by which editors check and complete files: of packwise's configuration, or of the
PodCliqueSets of a release of Grove."""

SCHEMA_EPILOG = """\
examples:
  packwise schema
  packwise schema TopologyRender > topologyrender.schema.json
  packwise schema PodCliqueSet --revision v0.1.0-alpha.13 > podcliqueset.schema.json

an editor with the YAML language server reads the schema that the first line of a file names:
  # yaml-language-server: $schema=topologyrender.schema.json

exit codes: 0 no error, 2 wrong usage"""

VERSION = "Prints the version of packwise; with -v, those of Python and of the libraries that are installed."

VERSION_EPILOG = """\
examples:
  packwise version
  packwise version -v

exit codes: 0 no error, 1 the output could not be written"""

HELP = "Prints the help of packwise, or of a command."

HELP_EPILOG = """\
examples:
  packwise help
  packwise help check

exit codes: 0 no error, 2 wrong usage"""

COMPLETION = """\
Prints the script by which a shell completes commands, options, rules and paths."""

COMPLETION_EPILOG = """\
examples:
  packwise completion bash > ~/.local/share/bash-completion/completions/packwise
  packwise completion zsh > "${fpath[1]}/_packwise"
  packwise completion fish > ~/.config/fish/completions/packwise.fish

exit codes: 0 no error, 2 wrong usage"""

FLEET = """\
Looks for packages in ROOT: folders with a TopologyRender, kustomizations and Kptfiles that run packwise. Renders,
checks, compares or places each one by itself, and says of all together what changes and what fails. Kustomizations are
built by kustomize, which must be on PATH; no function and no program that a repository names is run, and nothing is
fetched. Results are kept, so that a package that did not change is not rendered again."""

FLEET_EPILOG = """\
examples:
  packwise fleet check clusters --jobs 4
  packwise fleet check clusters --crds platform/crds
  packwise fleet diff clusters --changed-since git:origin/main -o markdown
  packwise fleet render clusters -o rendered --prune
  packwise fleet place clusters --nodes nodes/

exit codes: 0 no error, 1 a package fails or a gang does not fit, 2 wrong usage"""

FUNCTION = """\
The KRM function that kustomize and kpt start: a ResourceList on stdin, a ResourceList on stdout. In the functionConfig
stands the TopologyRender; without one, the TopologyRender among the items counts."""

FUNCTION_EPILOG = """\
examples:
  kpt fn source inference | packwise fn | kpt fn sink rendered
  kpt fn eval inference --exec "packwise fn" --fn-config inference/topology.yaml
  kustomize build --enable-alpha-plugins --enable-exec overlays/west

exit codes: 0 no error, 1 errors were found (they stand in the list's results, and on stderr)"""

REPORT = """\
Draws the gangs of PATH on the nodes of a cluster: one page that needs no network, with domains, nodes and GPUs, where
the KAI Scheduler puts each gang or why it does not, constraints, findings with links into the files, and with
--baseline both states side by side. Without --nodes it shows gangs, constraints and findings. It is written also where
there are errors."""

REPORT_EPILOG = """\
examples:
  packwise report clusters/west --nodes nodes.json -o report.html
  packwise report clusters/west --nodes nodes.json --baseline git:origin/main -o report.html
  packwise report clusters/west --nodes nodes.json -o docs/placement.svg -o mermaid
  packwise report clusters/west -o report.html --source-url 'https://github.com/o/r/blob/SHA/{path}#L{line}'

exit codes: 0 every gang fits and no error was found, 1 otherwise, 2 wrong usage"""
