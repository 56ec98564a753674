"use strict";
// This script draws the picture from the JSON in the page. It inserts every text as a text node and never parses markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const PER_PAGE = 60, MAX_OPEN = 500;
  const FILTERS = [["", "All"], ["pending", "Does not fit"], ["partial", "In part"], ["allocated", "Fits"], ["changed", "Changes"]];
  const severities = { error: ["✕ error", "bad"], warning: ["⚠ warning", "warn"], info: ["ℹ info", "plain"] };
  const view = { query: "", state: "", picked: null, map: 0, side: data.hasBefore ? "both" : "after", shown: PER_PAGE };

  // Makes an element. Strings become text nodes. An attribute with a function becomes an event listener.
  function h(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (typeof value === "function") element.addEventListener(key, value);
      else if (key.startsWith("--")) element.style.setProperty(key, value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== ""));
    return element;
  }
  const span = (kind, ...children) => h("span", { class: kind }, ...children);
  const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
  const matches = (text) => text.toLowerCase().includes(view.query);
  const say = (text) => { byId("status").textContent = text; };
  const numberOf = (gang) => String(gang + 1);
  const colour = (gang) => `c${data.gangs[gang].colour}`;
  const hueOf = (gang) => data.gangs[gang].colour - (data.gangs[gang].colour % data.tints);
  const totalBy = (number) => (total, each) => total + number(each);

  // Makes a link to a line of a file. A short link shows the name of the file without its folder.
  function link(file, line, isShort) {
    const [name, address] = data.files[file];
    const text = (isShort ? name.slice(name.lastIndexOf("/") + 1) : name) + (line === null ? "" : `:${line}`);
    return address ? h("a", { href: address.replaceAll("{line}", line === null ? 1 : line), title: name }, text) : h("span", {}, text);
  }

  // ---- Figures and tools -------------------------------------------------------------------------------------------

  // Shows the numbers of GPUs, and the numbers of errors and warnings if there are any.
  function figures() {
    const sum = (number) => data.nodes.reduce(totalBy(number), 0);
    const taken = (side) => sum((node) => node[side].reduce(totalBy((share) => share[2]), 0));
    const gangs = data.gangs.filter((gang) => gang.after), listed = [];
    if (data.nodes.length) {
      const [all, used, after, before] = [sum((node) => node[1]), sum((node) => node[2]), taken(4), taken(5)];
      const change = data.hasBefore && before !== after ? `${before.toLocaleString("en")} → ` : "";
      listed.push(
        ["free afterwards", counted(all - used - after, "GPU"), "main"],
        ["of gangs", change + counted(after, "GPU")], ["of other pods", counted(used, "GPU")], ["in the cluster", counted(all, "GPU")]);
    } else {
      listed.push(
        ["that gangs need", counted(gangs.reduce(totalBy((gang) => gang.gpus), 0), "GPU"), "main"],
        ["in gangs", counted(gangs.reduce(totalBy((gang) => gang.pods), 0), "pod")]);
    }
    byId("figures").append(...listed.map(([text, number, kind]) => h("div", { class: kind }, h("dt", {}, text), h("dd", {}, number))));
    for (const [severity, kind] of [["error", "bad"], ["warning", "warn"]]) {
      const number = data.findings.filter((finding) => finding.severity === severity).length;
      if (number) byId("problems").append(jump("findings", span(`badge ${kind}`, `${severities[severity][0].slice(0, 1)} ${counted(number, severity)}`)));
    }
  }

  // Makes a link to a section. The address of the page keeps the search and the chosen gang.
  function jump(section, ...children) {
    return h("a", { href: `#${section}`, click: (event) => {
      event.preventDefault();
      const head = byId(`${section}-head`);
      head.setAttribute("tabindex", "-1");
      head.focus({ preventScroll: true });
      byId(section).scrollIntoView();
    } }, ...children);
  }

  // Adds links to the sections, for narrow screens that show one section below another.
  function sections() {
    const shown = [...byId("main").querySelectorAll("section")].filter((section) => !section.hidden);
    byId("sections").append(...shown.map((section) => jump(section.id, byId(`${section.id}-head`).textContent)));
  }

  function tools() {
    const states = byId("states");
    const number = (state) => data.gangs.filter((gang) => isOf(gang, state)).length;
    const known = FILTERS.filter(([state]) => !state || number(state));
    states.append(...known.map(([state, text]) => h("button", {
      type: "button", "data-state": state, "aria-pressed": String(state === view.state),
      click: () => { view.state = state; view.shown = PER_PAGE; press(states, state); drawGangs(); remember(); },
    }, `${text} ${number(state)}`)));
    states.hidden = known.length < 3;
    const query = byId("query");
    let waiting = 0;
    query.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => search(query.value), 120); });
    byId("search").addEventListener("submit", (event) => { event.preventDefault(); search(query.value); });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !["INPUT", "SELECT"].includes(event.target.tagName)) { event.preventDefault(); query.focus(); }
      if (event.key === "Escape") {
        if (event.target === query) { query.value = ""; search(""); } else if (view.picked !== null) pick(view.picked);
      }
    });
    const theme = byId("theme"), prefersDark = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (document.documentElement.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
    const show = () => { theme.textContent = isDark() ? "Use light colours" : "Use dark colours"; };
    theme.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; show(); });
    prefersDark.addEventListener("change", show);
    show();
  }

  function press(group, value) {
    for (const button of group.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.state === value));
  }

  function search(text) {
    view.query = text.trim().toLowerCase();
    view.shown = PER_PAGE;
    const found = [drawGangs(), data.maps.length ? drawMap() : null, drawFindings()];
    const words = [counted(found[0], "gang"), found[1] === null ? "" : counted(found[1], "node"), counted(found[2], "finding")];
    say(view.query ? `Matching “${text.trim()}”: ${words.filter(Boolean).join(", ")}` : "");
    remember();
  }

  // ---- The address -------------------------------------------------------------------------------------------------

  // The fragment of the address holds the search, the filters and the chosen gang. A link then opens the same view.
  const keys = { query: "search", state: "show", picked: "gang", map: "topology", side: "side" };

  function remember() {
    const set = new URLSearchParams();
    if (view.query) set.set(keys.query, byId("query").value.trim());
    if (view.state) set.set(keys.state, view.state);
    if (view.picked !== null) set.set(keys.picked, data.gangs[view.picked].name);
    if (view.map) set.set(keys.map, data.maps[view.map].topology);
    if (view.side !== (data.hasBefore ? "both" : "after")) set.set(keys.side, view.side);
    const text = set.toString();
    if (location.hash.slice(1) !== text) history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  function recall() {
    const set = new URLSearchParams(location.hash.slice(1)), all = (key) => set.get(keys[key]) || "";
    const map = data.maps.findIndex((each) => each.topology === all("map")), picked = data.gangs.findIndex((gang) => gang.name === all("picked"));
    byId("query").value = all("query");
    view.query = all("query").toLowerCase();
    view.state = FILTERS.some(([state]) => state === all("state")) ? all("state") : "";
    view.map = Math.max(map, 0);
    view.side = data.hasBefore && ["before", "after"].includes(all("side")) ? all("side") : data.hasBefore ? "both" : "after";
    view.picked = picked < 0 ? null : picked;
  }

  // ---- Gangs -------------------------------------------------------------------------------------------------------

  const outcome = (gang) => gang.after || gang.before;
  const isOf = (gang, state) => !state || (state === "changed" ? gang.change !== "" : Boolean(gang.after) && gang.after.state === state);
  const tone = { allocated: "good", partial: "warn", pending: "bad", notready: "bad" };
  const changeTone = { "no longer fits": "bad", "fits now": "good", moves: "warn", new: "plain", removed: "plain" };

  const sourceText = (file, line) => data.files[file][0] + (line === null ? "" : `:${line}`);

  // For each node, the names and KAI's ids of its domains in all topologies.
  let homes = null;
  function homesOf(node) {
    if (homes === null) {
      homes = data.nodes.map(() => []);
      const visit = ([, name, inner, nodes], above, around) => {
        const id = above ? `${above}.${name}` : name, here = [...around, name, id];
        inner.forEach((part) => visit(part, id, here));
        nodes.forEach((each) => homes[each].push(...here));
      };
      for (const map of data.maps) for (const domain of map.domains) visit(domain, "", []);
    }
    return homes[node];
  }

  function gangMatches(index) {
    const gang = data.gangs[index], where = outcome(gang);
    const own = [numberOf(index), gang.name, gang.workload, gang.queue, where.domain, where.nearest, gang.change];
    return [...own, ...where.reasons, ...gang.notes].some(matches) || gang.parts.some(partMatches);
  }

  function partMatches([name, , , , required, preferred, file, line, nodes]) {
    if ([name, required, preferred, sourceText(file, line)].some(matches)) return true;
    return nodes.some(([node]) => matches(data.nodes[node][0]) || homesOf(node).some(matches));
  }

  function drawGangs() {
    const all = data.gangs.map((_, index) => index).filter((index) => isOf(data.gangs[index], view.state) && gangMatches(index));
    const items = all.slice(0, view.shown).map(gangItem);
    const rest = all.length - items.length;
    byId("gangs").replaceChildren(
      byId("gangs-head"),
      all.length
        ? h("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "List of gangs" },
            h("ul", { class: "list" }, items),
            rest > 0
              ? h("button", { type: "button", class: "more", click: showMore }, `Show ${Math.min(rest, PER_PAGE)} of ${rest} more gangs`)
              : null)
        : h("p", { class: "empty" }, data.gangs.length ? "No gang matches." : "No gangs."));
    return all.length;
  }

  function showMore() {
    const before = view.shown;
    view.shown += PER_PAGE;
    drawGangs();
    // The button no longer exists, so the first new gang gets the focus.
    byId("gangs").querySelectorAll(".pick")[before]?.focus();
  }

  function gangItem(index) {
    const gang = data.gangs[index], where = outcome(gang), [sign, text] = data.states[where.state];
    const isPicked = view.picked === index;
    return h("li", { class: `gang ${colour(index)}${isPicked ? " picked" : ""}`, "data-gang": index },
      h("h3", {}, h("button", { type: "button", class: "pick", "aria-pressed": String(isPicked), click: () => pick(index) },
        span("chip", numberOf(index)), h("span", {}, gang.name))),
      h("p", { class: "facts" },
        gang.after && text ? h("span", { class: `badge ${tone[where.state]}` }, `${sign} ${text}`) : null,
        gang.change ? h("span", { class: `badge ${changeTone[gang.change]}` }, gang.change) : null,
        h("span", {}, where.state ? `${where.placed} of ${counted(gang.pods, "pod")}` : counted(gang.pods, "pod")),
        h("span", {}, counted(gang.gpus, "GPU")), h("span", {}, `queue ${gang.queue}`)),
      h("p", { class: "facts" },
        placeText(gang) ? span("place", placeText(gang)) : null,
        h("span", {}, constraintText(gang)),
        link(gang.parts[0][6], gang.parts[0][7], true)),
      where.reasons.length && gang.after ? h("ul", { class: "why" }, where.reasons.map((reason) => h("li", {}, reason))) : null,
      gang.notes.length && gang.after ? h("ul", { class: "notes" }, gang.notes.map((note) => h("li", {}, `Note: ${note}`))) : null,
      gangDetails(gang, where));
  }

  function constraintText(gang) {
    const parts = gang.parts.filter((part) => part[4] || part[5]);
    if (!parts.length) return "no constraint";
    const preferred = (part) => (part[5] ? `, if possible one ${part[5]}` : "");
    const within = (part, word) => (part[4] ? `${word} one ${part[4]}${preferred(part)}` : `if possible ${word} one ${part[5]}`);
    const shown = parts.slice(0, 3).map((part) => (part[1] ? `${part[0]} ${within(part, "in")}` : within(part, "within")));
    return shown.join("; ") + (parts.length > 3 ? `; ${parts.length - 3} more` : "");
  }

  function placeText(gang) {
    const text = (side) => (!side || !side.state ? "" : side.placed ? side.domain || "several domains" : "no place");
    const [before, after] = [text(gang.before), text(gang.after)];
    if (before && after && before !== after) return `from ${before} to ${after}`;
    return after && after !== "no place" ? `in ${after}` : "";
  }

  function gangDetails(gang, where) {
    const names = (nodes) => nodes.map(([node, pods]) => data.nodes[node][0] + (pods > 1 ? ` ×${pods}` : "")).join(", ");
    const rows = () => gang.parts.map(([name, depth, pods, members, required, preferred, file, line, nodes]) => h("tr", {},
      h("th", { scope: "row" }, `${"· ".repeat(depth)}${name}`),
      h("td", { class: "n" }, pods ? String(pods) + (members && members < pods ? ` (${members} needed)` : "") : ""),
      h("td", {}, [required && `one ${required}`, preferred && `if possible one ${preferred}`].filter(Boolean).join(", ")),
      h("td", {}, nodes.length ? names(nodes) : ""),
      h("td", {}, link(file, line, true))));
    const body = () => [
      h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Parts of ${gang.name}` }, h("table", { class: "parts" },
        h("thead", {}, h("tr", {}, ["Part", "Pods", "Within", "Nodes", "Source"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, rows()))),
      where.message.length ? h("p", { class: "aside" }, `${gang.scheduler}: ${where.message.join("\n")}`) : null,
    ];
    return lazily(h("details", {}, h("summary", {}, "Parts, nodes, sources" + (where.message.length ? `, ${gang.scheduler}’s message` : ""))), body);
  }

  // Lets a details element make its body when a user first opens it.
  function lazily(details, body) {
    details.fill = () => { if (!details.filled) { details.filled = true; details.append(...body().flat().filter(Boolean)); } };
    details.addEventListener("toggle", () => { if (details.open) details.fill(); });
    return details;
  }

  function pick(index) {
    view.picked = view.picked === index ? null : index;
    for (const item of document.querySelectorAll(".gang")) {
      const isPicked = Number(item.dataset.gang) === view.picked;
      item.classList.toggle("picked", isPicked);
      item.querySelector(".pick").setAttribute("aria-pressed", String(isPicked));
    }
    remember();
    if (!data.maps.length) return;
    paint();
    if (view.picked === null) { say(""); return; }
    showOnMap(index);
  }

  // ---- The map -----------------------------------------------------------------------------------------------------

  let entries = new Map(), paths = new Map(), bars = [];
  const open = h("select", { id: "down", change: () => { openTo(open.selectedIndex); } });
  const fillLevels = () => open.replaceChildren(...[...data.maps[view.map].levels, "nodes"].map((level) => h("option", {}, level)));

  function controls() {
    const names = data.maps.map((map) => map.topology || "no topology");
    fillLevels();
    const choose = () => { view.map = topology.selectedIndex; fillLevels(); drawMap(); remember(); };
    const topology = h("select", { id: "topology", change: choose }, names.map((name) => h("option", {}, name)));
    topology.selectedIndex = view.map;
    const sides = h("div", { id: "sides", role: "group", "aria-label": "Show the cluster" });
    sides.append(...[["both", "Side by side"], ["before", "Before"], ["after", "After"]].map(([side, text]) => h("button", {
      type: "button", "data-state": side, "aria-pressed": String(side === view.side),
      click: () => { view.side = side; press(sides, side); drawMap(); remember(); },
    }, text)));
    const sample = (segment, text) => h("li", {}, h("span", { class: "bar", "aria-hidden": "true" }, segment), text);
    byId("cluster").append(
      h("div", { class: "controls" },
        data.hasBefore ? sides : null,
        names.length > 1 ? h("label", {}, "Topology ", topology) : null,
        h("label", {}, "Open down to ", open)),
      h("ul", { class: "legend", "aria-label": "Legend" },
        ...queueSamples(sample),
        sample(segment("used", 1), "in use by other pods"),
        sample(segment("free", 1), "free"),
        data.hasBefore ? h("li", {}, "left: before, right: after") : null),
      h("div", { id: "map", keydown: walk, click: (event) => {
        const gang = event.target.closest(".seg")?.dataset.gang;
        if (gang !== undefined) { event.preventDefault(); if (view.picked !== Number(gang)) pick(Number(gang)); }
      } }));
  }

  // Makes an entry of the legend for each hue, with its queues. With only one queue, makes a single entry.
  function queueSamples(sample) {
    const hues = new Map();
    data.gangs.forEach((gang, index) => hues.set(hueOf(index), (hues.get(hueOf(index)) || new Set()).add(gang.queue)));
    const queues = new Set(data.gangs.map((gang) => gang.queue));
    if (queues.size < 2) return [sample(segment("of c0", 1, "1"), "gang, by its number")];
    const listed = [...hues].sort(([one], [other]) => one - other);
    const text = (names) => names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
    return listed.map(([hue, names]) => sample(segment(`of c${hue}`, 1, "1"), `gang of queue ${text([...names])}`));
  }

  // Returns a domain with KAI's id and its parts that match the search, or null if no part matches.
  function chosen(domain, above, isWhole) {
    const [level, name, inner, nodes, totals] = domain, id = above ? `${above}.${name}` : name;
    const all = isWhole || matches(name) || matches(id);
    const parts = inner.map((part) => chosen(part, id, all)).filter(Boolean);
    const members = nodes.filter((node) => all || nodeMatches(node));
    const number = members.length + parts.reduce((total, part) => total + part.number, 0);
    return number || all ? { id, level, name, parts, nodes: members, totals, domain, number, isWhole: all } : null;
  }

  function nodeMatches(index) {
    const node = data.nodes[index];
    return matches(node[0]) || node[3].some(matches) || [...node[4], ...node[5]].some((share) => matches(data.gangs[share[0]].name));
  }

  function drawMap() {
    const map = data.maps[view.map];
    entries = new Map(); paths = new Map(); bars = [];
    const domains = map.domains.map((domain) => chosen(domain, "", !view.query)).filter(Boolean);
    const outside = map.outside.filter((node) => !view.query || nodeMatches(node));
    const number = domains.reduce((total, domain) => total + domain.number, 0) + outside.length;
    byId("map").style.setProperty("--card", view.side === "both" ? "18rem" : "17rem");
    byId("map").replaceChildren(
      domains.length ? domainList(domains, []) : "",
      outside.length ? h("ul", { class: "domains" }, outsideItem(outside, map.domains.length > 0)) : "",
      number ? "" : h("p", { class: "empty" }, "No node matches."));
    byId("down").selectedIndex = openByDefault(domains, number);
    if (view.picked !== null) paint();
    return number;
  }

  function domainList(domains, path) {
    const isInner = domains.every((domain) => domain.nodes.length || !domain.parts.length);
    return h("ul", { class: isInner ? "domains inner" : "domains" }, domains.map((domain) => domainItem(domain, path)));
  }

  function domainItem(domain, path) {
    const [, gpus, used, after, before, usedBefore] = domain.totals, here = [...path, domain.id];
    const [then, now] = [(usedBefore + before).toLocaleString("en"), (used + after).toLocaleString("en")];
    const taken = view.side === "both" && then !== now ? `${then} → ${now}` : view.side === "before" ? then : now;
    const gangs = totalsOf(domain);
    const summary = h("summary", {},
      h("span", {}, span("level", domain.level), " ", span("name", domain.name)),
      span("count", gpus ? `${taken} of ${counted(gpus, "GPU")}` : counted(domain.totals[0], "node")),
      gpus ? barsOf((side) => domainSegments(gangs[side], gpus, side === "after" ? used : usedBefore)) : null);
    const details = lazily(h("details", {}, summary), () => {
      for (const node of domain.nodes) paths.set(node, here);
      return [h("div", { class: "body" }, domain.nodes.length ? nodeList(domain.nodes) : domainList(domain.parts, here))];
    });
    const item = h("li", { class: "domain" }, details);
    entries.set(domain.id, { details, item, domain });
    return item;
  }

  function outsideItem(nodes, hasDomains) {
    const text = hasDomains ? "Nodes that lack the label of a level" : "All nodes";
    const summary = h("summary", {}, span("name", text), span("count", counted(nodes.length, "node")));
    const details = lazily(h("details", {}, summary), () => [h("div", { class: "body" }, nodeList(nodes))]);
    if (!hasDomains || nodes.length < 20) { details.open = true; details.fill(); }
    return h("li", { class: "domain" }, details);
  }

  function nodeList(nodes) {
    const isLong = nodes.some((node) => data.nodes[node][0].length > 16);
    return h("ul", { class: isLong ? "nodes long" : "nodes" },
      view.side === "both"
        ? h("li", { class: "heads", "aria-hidden": "true" }, span("bars", h("span", {}, "before"), h("span", {}, "after")))
        : null,
      nodes.map(nodeItem));
  }

  function nodeItem(index) {
    const [name, gpus, used, notes, after, before, usedBefore] = data.nodes[index];
    const rest = [...new Set((view.side === "before" ? before : after).filter((share) => !share[2]).map((share) => share[0]))];
    const chips = rest.map((gang) => h("span", { class: `chip ${colour(gang)}`, title: data.gangs[gang].name }, numberOf(gang)));
    return h("li", { class: "node" },
      span("name", name),
      gpus
        ? barsOf((side) => (side === "after" ? nodeSegments(after, gpus, used) : nodeSegments(before, gpus, usedBefore)))
        : span("none", "no GPUs"),
      chips.length || notes.length
        ? span("rest", chips.length ? "pods without GPUs of " : "", chips, notes.map((note) => span("badge warn", `⚠ ${note}`)))
        : null);
  }

  // Returns the GPUs of each gang in a domain, before and after the change.
  function totalsOf(domain) {
    const totals = { after: new Map(), before: new Map() };
    const add = (into, shares) => shares.forEach(([gang, , gpus]) => { if (gpus) into.set(gang, (into.get(gang) || 0) + gpus); });
    const visit = ([, , inner, nodes]) => {
      inner.forEach(visit);
      nodes.forEach((node) => { add(totals.after, data.nodes[node][4]); add(totals.before, data.nodes[node][5]); });
    };
    visit(domain.domain);
    return totals;
  }

  function barsOf(segments) {
    const sides = view.side === "both" ? ["before", "after"] : [view.side];
    return span("bars", sides.map((side) => {
      const bar = h("span", { class: "bar", role: "img" });
      const fill = () => {
        const [parts, label] = segments(side);
        bar.replaceChildren(...parts);
        bar.setAttribute("aria-label", sides.length > 1 ? `${side}: ${label}` : label);
      };
      fill();
      bars.push(fill);
      return bar;
    }));
  }

  const segment = (kind, gpus, text) => h("span", { class: `seg ${kind}`, "--n": gpus }, text ? h("b", {}, text) : "");
  const gangSegment = (gang, gpus) => {
    const part = segment(`of ${colour(gang)}${gang === view.picked ? " on" : ""}`, gpus, numberOf(gang));
    part.dataset.gang = gang;
    part.title = `${numberOf(gang)}: ${data.gangs[gang].name}, ${counted(gpus, "GPU")}`;
    return part;
  };

  function nodeSegments(shares, gpus, used) {
    const gangs = shares.filter((share) => share[2]).map(([gang, , number]) => [gang, number]);
    const texts = gangs.map(([gang, number]) => `${number} of gang ${numberOf(gang)}, ${data.gangs[gang].name}`);
    return segments(gangs, [], texts, gpus, used);
  }

  // Draws more than eight gangs of a domain as one segment for each hue, and the chosen gang separately.
  function domainSegments(gangs, gpus, used) {
    const all = [...gangs], words = [`${totalOf(all)} of ${counted(gangs.size, "gang")}`];
    if (gangs.size <= 8) return segments(all, [], words, gpus, used);
    const hues = new Map(), picked = all.filter(([gang]) => gang === view.picked);
    for (const [gang, number] of all) if (gang !== view.picked) hues.set(hueOf(gang), (hues.get(hueOf(gang)) || 0) + number);
    return segments(picked, [...hues].sort(([one], [other]) => one - other), words, gpus, used);
  }

  const totalOf = (gangs) => gangs.reduce((total, [, number]) => total + number, 0);

  // Returns the segments of a bar (other pods, single gangs, gangs by hue, free GPUs), and a label with the same numbers.
  function segments(gangs, hues, texts, gpus, used) {
    const free = Math.max(0, gpus - used - totalOf(hues) - totalOf(gangs));
    const parts = [
      used > 0 && segment("used", used),
      ...gangs.map(([gang, number]) => gangSegment(gang, number)),
      ...hues.map(([hue, number]) => segment(`many c${hue}`, number)),
      free > 0 && segment("free", free),
    ];
    const words = [counted(gpus, "GPU"), ...texts, used ? `${used} in use by other pods` : "", `${free} free`];
    return [parts.filter(Boolean), words.filter(Boolean).join("; ")];
  }

  // Opens the map level by level while at most MAX_OPEN domains and nodes are visible. Returns the number of open levels.
  function openByDefault(domains, number) {
    let level = domains, shown = domains.length, depth = 0;
    while (level.length) {
      const below = level.flatMap((domain) => domain.parts);
      const nodes = level.reduce((total, domain) => total + domain.nodes.length, 0);
      shown += below.length + nodes;
      if (shown > MAX_OPEN || (view.query && number > MAX_OPEN)) break;
      for (const domain of level) openDomain(domain.id);
      level = below;
      depth += 1;
    }
    return depth;
  }

  function openDomain(id) {
    const entry = entries.get(id);
    if (!entry) return null;
    entry.details.fill();
    entry.details.open = true;
    return entry;
  }

  function openTo(depth) {
    const visit = (domain, at) => {
      const { details } = entries.get(domain.id);
      if (at < depth) { openDomain(domain.id); domain.parts.forEach((part) => visit(part, at + 1)); } else details.open = false;
    };
    const map = data.maps[view.map];
    for (const domain of map.domains) { const entry = entries.get(domain[1]); if (entry) visit(entry.domain, 0); }
  }

  function paint() {
    byId("map").classList.toggle("picking", view.picked !== null);
    for (const item of document.querySelectorAll(".domain.near")) { item.classList.remove("near"); item.querySelector(".badge").remove(); }
    for (const fill of bars) fill();
  }

  // Opens the domains of a gang. For a gang that does not fit, opens the domain that is the closest fit.
  function showOnMap(index) {
    const gang = data.gangs[index], side = view.side === "before" ? 5 : 4;
    const where = [];
    const visit = (domain, path) => {
      const id = path.length ? `${path[path.length - 1]}.${domain[1]}` : domain[1], here = [...path, id];
      domain[2].forEach((part) => visit(part, here));
      if (domain[3].some((node) => data.nodes[node][side].some((share) => share[0] === index))) where.push(here);
    };
    data.maps[view.map].domains.forEach((domain) => visit(domain, []));
    const wanted = where.length ? where.slice(0, 24) : nearestPath(outcome(gang).nearest);
    for (const path of wanted) path.forEach(openDomain);
    const first = wanted.length && entries.get(wanted[0][wanted[0].length - 1]);
    if (first && !where.length) {
      first.item.classList.add("near");
      first.item.querySelector(".name").after(" ", span("badge bad", "closest fit"));
    }
    if (first) first.item.scrollIntoView({ block: "nearest" });
    const innermost = data.maps[view.map].levels.at(-1) || "domain";
    const ids = where.slice(0, 6).map((path) => path[path.length - 1]).join(", ") + (where.length > 6 ? ", …" : "");
    const { nearest } = outcome(gang), text = nearest ? `does not fit; ${nearest} is the closest fit` : "has no place on the map";
    say(`Gang ${numberOf(index)} ${where.length ? `is in ${counted(where.length, innermost)}: ${ids}` : text}`);
  }

  function nearestPath(id) {
    const search = (domain, above) => {
      const here = above.length ? `${above[above.length - 1]}.${domain[1]}` : domain[1], path = [...above, here];
      if (here === id) return [path];
      return domain[2].flatMap((part) => search(part, path));
    };
    return id ? data.maps[view.map].domains.flatMap((domain) => search(domain, [])) : [];
  }

  // Moves the focus between domains with the arrow keys, Home and End.
  function walk(event) {
    if (event.target.tagName !== "SUMMARY") return;
    const details = event.target.parentElement;
    const seen = [...byId("map").querySelectorAll("summary")].filter((summary) => summary.checkVisibility());
    const at = seen.indexOf(event.target);
    const parent = details.parentElement.closest("details");
    const step = {
      ArrowDown: () => seen[at + 1]?.focus(),
      ArrowUp: () => seen[at - 1]?.focus(),
      ArrowRight: () => {
        if (details.open) details.querySelector(":scope > .body summary")?.focus();
        else { details.fill(); details.open = true; }
      },
      ArrowLeft: () => { if (details.open) details.open = false; else parent?.querySelector("summary").focus(); },
      Home: () => seen[0].focus(),
      End: () => seen[seen.length - 1].focus(),
    }[event.key];
    if (step) { event.preventDefault(); step(); }
  }

  // ---- Levels, if no nodes are known --------------------------------------------------------------------------------

  const MAX_CHIPS = 40;

  function drawLevels() {
    const section = byId("cluster");
    byId("cluster-head").textContent = "Levels";
    section.append(h("p", { class: "muted" }, "packwise got no nodes, so gangs have no place yet. Each gang is shown at the levels of its constraints."));
    for (const { topology, levels } of data.levels) {
      const boxes = levels.reduceRight((inner, level) => levelBox(level, inner), null);
      section.append(h("div", { class: "levels" }, h("h3", {}, `Topology ${topology}`), boxes));
    }
    const isFree = (gang) => !gang.parts.some((part) => part[4] || part[5]);
    const free = data.gangs.map((_, index) => index).filter((index) => isFree(data.gangs[index]));
    if (free.length) section.append(chips("Gangs without a constraint:", free));
  }

  function levelBox([word, key], inner) {
    const bound = (field) => data.gangs.map((_, index) => index).filter((index) => data.gangs[index].parts.some((part) => part[field] === word));
    const [required, preferred] = [bound(4), bound(5)];
    return h("div", { class: "level-box" },
      h("p", {}, span("name", word), " ", word === key ? "" : h("code", {}, key)),
      required.length ? chips(`Within one ${word}:`, required) : null,
      preferred.length ? chips(`If possible within one ${word}:`, preferred) : null,
      inner);
  }

  function chips(text, gangs) {
    const listed = gangs.slice(0, MAX_CHIPS).map((gang) => h("button", {
      type: "button", class: `chip ${colour(gang)}`, title: data.gangs[gang].name,
      "aria-label": `${numberOf(gang)}: ${data.gangs[gang].name}`, click: () => showGang(gang),
    }, numberOf(gang)));
    const rest = gangs.length - listed.length;
    return h("p", { class: "chips" }, text, " ", listed, rest > 0 ? span("muted", `and ${rest} more`) : "");
  }

  // Chooses a gang and scrolls the list to it.
  function showGang(index) {
    view.query = byId("query").value = view.state = "";
    view.shown = Math.max(view.shown, index + 1);
    view.picked = index;
    press(byId("states"), view.state);
    drawGangs();
    drawFindings();
    remember();
    const button = byId("gangs").querySelector(`[data-gang="${index}"] .pick`);
    button.focus({ preventScroll: true });
    button.scrollIntoView({ block: "center" });
  }

  // ---- Changes and findings ----------------------------------------------------------------------------------------

  function drawChanges() {
    const section = byId("changes");
    section.hidden = data.baseline === null;
    if (section.hidden) return;
    if (data.changes === null) section.append(h("p", { class: "empty" }, "Not compared: one of the two states cannot be rendered."));
    else if (!data.changes.length) section.append(h("p", { class: "empty" }, `Nothing changes for the scheduler since ${data.baseline}.`));
    for (const { kind, actions, objects } of data.changes || []) {
      section.append(h("h3", {}, `${kind}: ${actions}`), h("ul", { class: "list" }, objects.map(changeItem)));
    }
  }

  function changeItem([first, ...lines]) {
    const rest = () => h("pre", {}, lines.map((line) => line.replace(/^ {1,6}/, "")).join("\n"));
    const summary = first.trim();
    return h("li", { class: "change" }, lines.length ? h("details", {}, h("summary", {}, summary), rest()) : h("code", {}, summary));
  }

  function drawFindings() {
    const order = Object.keys(severities);
    const file = (finding) => (finding.file === null ? "" : sourceText(finding.file, finding.line));
    const all = data.findings.filter((finding) => [finding.text, finding.rule, finding.severity, file(finding)].some(matches));
    const listed = [...all].sort((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity));
    byId("findings").replaceChildren(byId("findings-head"), listed.length
      ? h("ul", { class: "list" }, listed.slice(0, 1000).map(findingItem))
      : h("p", { class: "empty" }, data.findings.length ? "No finding matches." : "No findings."));
    if (listed.length > 1000) byId("findings").append(h("p", { class: "empty" }, `and ${listed.length - 1000} more`));
    return listed.length;
  }

  function findingItem(finding) {
    const [word, kind] = severities[finding.severity];
    return h("li", { class: "finding" },
      h("span", { class: `badge ${kind}` }, word), h("p", {}, finding.text),
      h("p", { class: "facts" },
        finding.file === null ? null : link(finding.file, finding.line), h("code", {}, finding.rule), h("span", {}, finding.help)),
      finding.operator
        ? h("details", {}, h("summary", {}, "The operator’s own text"), h("p", { class: "aside" }, finding.operator))
        : null);
  }

  // Draws everything again after the address of the page has changed.
  function redraw() {
    press(byId("states"), view.state);
    drawGangs();
    drawFindings();
    if (!data.maps.length) return;
    if (byId("topology")) byId("topology").selectedIndex = view.map;
    fillLevels();
    if (data.hasBefore) press(byId("sides"), view.side);
    drawMap();
    if (view.picked !== null) showOnMap(view.picked);
  }

  // ---- Paper -------------------------------------------------------------------------------------------------------

  // Returns the number of levels to print: as many as fit into MAX_OPEN domains and nodes.
  function printedLevels(domains) {
    let level = domains, depth = 0;
    while (level.length) {
      const below = level.flatMap((domain) => domain[2]), nodes = level.reduce((total, domain) => total + domain[3].length, 0);
      if (below.length + nodes > MAX_OPEN) break;
      level = below;
      depth += 1;
    }
    return depth;
  }

  function expand() {
    view.shown = Infinity;
    drawGangs();
    if (data.maps.length) openTo(printedLevels(data.maps[view.map].domains));
    for (const details of document.querySelectorAll(".gang details, .change details, .finding details")) {
      details.fill?.();
      details.open = true;
    }
  }

  recall();
  figures();
  tools();
  drawGangs();
  if (data.maps.length) { controls(); drawMap(); }
  else if (data.levels.length && data.gangs.length) drawLevels();
  else { byId("cluster").hidden = true; byId("main").classList.add("alone"); }
  drawChanges();
  drawFindings();
  if (view.picked !== null && data.maps.length) showOnMap(view.picked);
  if (data.findings.some((finding) => finding.severity === "error")) byId("main").prepend(byId("findings"));
  sections();
  addEventListener("beforeprint", expand);
  // A link to another view of the same page changes the fragment. The fragment of a section changes no view.
  addEventListener("hashchange", () => { if (!byId(location.hash.slice(1))) { recall(); redraw(); } });
})();
