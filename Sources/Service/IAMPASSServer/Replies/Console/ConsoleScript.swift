/// The console's only script: times, and the days of searches, are in the browser's time zone. Without it they are UTC, and
/// say so.
enum ConsoleScript {
  static let text = """
    "use strict";
    const two = (number) => String(number).padStart(2, "0");
    for (const one of document.querySelectorAll("time[datetime]")) {
      const time = new Date(one.dateTime);
      if (Number.isNaN(time.getTime())) continue;
      one.title = one.textContent;
      const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
      const seconds = /:\\d\\d:/.test(one.title) ? ":" + two(time.getSeconds()) : "";
      one.textContent = day + " " + two(time.getHours()) + ":" + two(time.getMinutes()) + seconds;
    }
    const zone = document.getElementById("zone");
    const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (zone) zone.textContent = "Times are in this browser’s time zone" + (name ? ", " + name : "") + ". The chart’s days are UTC’s.";
    for (const form of document.querySelectorAll("form.search")) {
      const days = form.querySelectorAll("input[type=date]");
      for (const day of days) {
        const label = day.parentElement.firstChild;
        label.textContent = label.textContent.replace(" (UTC day)", "");
      }
      form.addEventListener("submit", () => {
        for (const day of days) {
          const begin = form.elements[day.name + "_at"];
          begin.disabled = !day.value;
          if (begin.disabled) continue;
          const [year, month, date] = day.value.split("-").map(Number);
          // The last day ends when the next one begins.
          const time = new Date(year, month - 1, day.name === "to" ? date + 1 : date);
          begin.value = time.toISOString().replace(/\\.\\d+/, "");
        }
      });
    }

    """
}
