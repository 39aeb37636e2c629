/// The console's only script: it shows times in the browser's time zone. Without it they are UTC, and say so.
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
    if (zone) zone.textContent = "Times are in this browser’s time zone" + (name ? ", " + name : "") + ". Days are UTC’s.";

    """
}
