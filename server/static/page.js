// Starts GraphiQL: with the query of the page's address, with the tabs of the last visit, or with
// the examples that the server wrote into the page. Keeps the address a link to what is shown.

"use strict";

(() => {
  const LONGEST_ADDRESS = 8000; // longer ones are cut on their way by some programs
  const EXAMPLES_KEY = "cachelog:examples";
  const TABS_KEY = "graphiql:tabState";
  const QUERY_KEY = "graphiql:query";

  const examples = JSON.parse(document.getElementById("examples").textContent);
  const link = readAddress();

  document.getElementById("address").textContent = location.origin + location.pathname;
  if (!(window.React && window.ReactDOM && window.GraphiQL)) {
    document.getElementById("state").textContent = "GraphiQL could not be loaded.";
    return;
  }
  renewExamples();
  ReactDOM.createRoot(document.getElementById("graphiql")).render(React.createElement(Page));

  function Page() {
    // GraphiQL asks for this operation in whichever tab is open, so it is for the link's tab alone.
    const [operationName, setOperationName] = React.useState(link?.operationName);
    const filled = link && { query: link.query, variables: link.variables, operationName };
    return React.createElement(
      GraphiQL,
      {
        fetcher: GraphiQL.createFetcher({ url: location.pathname }),
        defaultTabs: link ? [{ query: link.query, variables: link.variables }, ...examples] : examples,
        shouldPersistHeaders: false,
        onTabChange: ({ tabs, activeTabIndex }) => {
          const tab = tabs[activeTabIndex];
          const name = tab.query === link?.query ? link.operationName : undefined;
          setOperationName(name);
          history.replaceState(null, "", addressOf(tab, name));
        },
        ...filled,
      },
      React.createElement(GraphiQL.Logo, null, "cachelog"),
    );
  }

  function readAddress() {
    const given = new URLSearchParams(location.search);
    if (!given.get("query")) return null;
    return {
      query: given.get("query"),
      variables: given.get("variables") ?? "",
      operationName: given.get("operationName") || undefined,
    };
  }

  function addressOf(tab, operationName) {
    if (!tab.query) return location.pathname;
    const given = new URLSearchParams({ query: tab.query });
    if (tab.variables) given.set("variables", tab.variables);
    if (operationName) given.set("operationName", operationName);
    const address = `${location.pathname}?${given}`;
    return address.length <= LONGEST_ADDRESS ? address : location.pathname;
  }

  // Tabs that hold an example of an earlier visit as it was get the example of today, which names
  // revisions that are there now. What somebody wrote or changed is left alone.
  function renewExamples() {
    try {
      const earlier = JSON.parse(localStorage.getItem(EXAMPLES_KEY)) ?? [];
      const renewed = new Map(
        earlier.flatMap(({ name, query }) => {
          const now = examples.find((example) => example.name === name);
          return now ? [[query, now.query]] : [];
        }),
      );
      const kept = JSON.parse(localStorage.getItem(TABS_KEY));
      for (const tab of kept?.tabs ?? []) tab.query = renewed.get(tab.query) ?? tab.query;
      if (kept) localStorage.setItem(TABS_KEY, JSON.stringify(kept));
      const open = renewed.get(localStorage.getItem(QUERY_KEY));
      if (open) localStorage.setItem(QUERY_KEY, open);
      localStorage.setItem(EXAMPLES_KEY, JSON.stringify(examples));
    } catch {
      // A browser that keeps nothing has nothing to renew.
    }
  }
})();
