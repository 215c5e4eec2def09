// Three small things, none of which is needed to read the page.
(function () {
  "use strict";
  var root = document.documentElement;
  var MARKS = 'figure svg [role="graphics-symbol"][aria-label]';

  // Light or dark: the system's choice, until the reader makes another.
  var button = document.querySelector("button.theme");
  function isDark() {
    var chosen = root.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  if (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      root.dataset.theme = isDark() ? "light" : "dark";
    });
  }

  // Sort a table by a column; cells without a value come last.
  document.querySelectorAll("table.sortable").forEach(function (table) {
    var heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      head.querySelector("button").addEventListener("click", function () {
        var sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        function key(row) {
          var value = row.cells[column].dataset.value;
          if (value === undefined) return null;
          return head.dataset.kind === "text" ? value : parseFloat(value);
        }
        Array.from(table.tBodies[0].rows)
          .sort(function (a, b) {
            var x = key(a), y = key(b);
            if (x === null || y === null) return (x === null) - (y === null);
            return sign * (x < y ? -1 : x > y ? 1 : 0);
          })
          .forEach(function (row) { table.tBodies[0].appendChild(row); });
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      });
    });
  });

  // Say what the mark under the pointer stands for.
  var hint = document.createElement("div");
  hint.id = "hint";
  hint.setAttribute("aria-hidden", "true");
  document.body.appendChild(hint);
  document.addEventListener("pointermove", function (event) {
    var mark = event.target.closest && event.target.closest(MARKS);
    hint.className = mark ? "on" : "";
    if (!mark) return;
    hint.textContent = mark.getAttribute("aria-label");
    var above = event.clientY - hint.offsetHeight - 12;
    hint.style.left = Math.min(event.clientX + 14, innerWidth - hint.offsetWidth - 8) + "px";
    hint.style.top = (above < 4 ? event.clientY + 18 : above) + "px";
  });

  // A row under the pointer stands out in every picture.
  document.querySelectorAll("tr[data-model]").forEach(function (row) {
    function fade(on) {
      document.querySelectorAll(MARKS).forEach(function (mark) {
        var own = mark.getAttribute("aria-label").indexOf(row.dataset.model + ":") === 0;
        mark.classList.toggle("faded", on && !own);
      });
    }
    row.addEventListener("pointerenter", function () { fade(true); });
    row.addEventListener("pointerleave", function () { fade(false); });
  });
})();
