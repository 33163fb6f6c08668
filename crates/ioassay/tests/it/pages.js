// Looks at a page in a frame as a reader would, and names what is wrong with it. Answers a list
// of sentences; the list is empty where nothing is.
"use strict";

const FAULTS_MAX = 30;

// On a desktop nothing has to be scrolled sideways, tables included.
const DESKTOP = 1280;

function luminance([r, g, b]) {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
}

// As in the accessibility guidelines (WCAG 2).
function contrast(one, other) {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function parsed(color) {
  const parts = (color.match(/[\d.]+/g) || []).map(Number);
  return parts.length < 3 ? [0, 0, 0, 0] : [parts[0], parts[1], parts[2], parts[3] ?? 1];
}

function over([r, g, b, alpha], ground) {
  return [r, g, b].map((c, at) => c * alpha + ground[at] * (1 - alpha));
}

class Inspection {
  constructor(frame) {
    this.window = frame.contentWindow;
    this.document = frame.contentDocument;
    this.width = this.window.innerWidth;
    this.faults = [];
  }

  style(element) {
    return this.window.getComputedStyle(element);
  }

  fault(what, element) {
    const text = (element?.textContent || "").trim().replace(/\s+/g, " ").slice(0, 60);
    const name = element ? ` <${element.tagName.toLowerCase()}> '${text}'` : "";
    if (this.faults.length < FAULTS_MAX) this.faults.push(`${what}${name}`);
  }

  isScroller(element) {
    return ["auto", "scroll"].includes(this.style(element).overflowX);
  }

  isScrolled(element) {
    for (let up = element.parentElement; up; up = up.parentElement) {
      if (this.isScroller(up)) return true;
    }
    return false;
  }

  // What is painted below an element: the colours of its ancestors, one over the other.
  ground(element) {
    const layers = [];
    for (let up = element; up; up = up.parentElement) {
      layers.push(parsed(this.style(up).backgroundColor));
    }
    const paper = this.scheme === "dark" ? [18, 18, 18] : [255, 255, 255];
    return layers.reverse().reduce((below, layer) => over(layer, below), paper);
  }

  // The same for a text in a picture, where shapes drawn before it lie below it.
  groundInPicture(text, svg) {
    let below = this.ground(svg);
    const box = text.getBoundingClientRect();
    for (const shape of svg.querySelectorAll("rect, path, polygon, circle")) {
      if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
      const style = this.style(shape);
      const matrix = shape.getScreenCTM();
      if (style.fill === "none" || !matrix) continue;
      const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
      if (!shape.isPointInFill(middle.matrixTransform(matrix.inverse()))) continue;
      const [r, g, b, alpha] = parsed(style.fill);
      below = over([r, g, b, alpha * style.fillOpacity * style.opacity], below);
    }
    return below;
  }

  checkContrast(element) {
    const style = this.style(element);
    const svg = element.closest("svg");
    const ground = svg ? this.groundInPicture(element, svg) : this.ground(element);
    const [r, g, b, alpha] = parsed(svg ? style.fill : style.color);
    const opacity = alpha * (svg ? style.fillOpacity : 1) * style.opacity;
    const found = contrast(over([r, g, b, opacity], ground), ground);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (found < (isLarge ? 3 : 4.5) - 0.005) {
      this.fault(`contrast of ${found.toFixed(2)}:`, element);
    }
  }

  checkWidth(element) {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) return;
    const isOut = box.left < -0.5 || box.right > this.width + 0.5;
    if (isOut && !this.isScrolled(element)) this.fault("reaches out of the window:", element);
    const isText = this.style(element).display !== "inline" && !element.closest("svg");
    const mayScroll = this.isScroller(element) && this.width < DESKTOP;
    if (isText && !mayScroll && element.scrollWidth > element.clientWidth + 1) {
      this.fault("is wider than its box:", element);
    }
  }

  // The boxes of all texts, a line each.
  texts() {
    const walker = this.document.createTreeWalker(this.document.body, NodeFilter.SHOW_TEXT);
    const boxes = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      const isShown = element.checkVisibility({ visibilityProperty: true });
      if (!node.data.trim() || !isShown || element.closest("style, script, title, desc")) continue;
      const range = this.document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) {
        // A box has room above and below its letters.
        const room = box.height * 0.15;
        const [top, bottom] = [box.top + room, box.bottom - room];
        const [left, right] = [box.left + 0.5, box.right - 0.5];
        if (right > left) boxes.push({ element, top, bottom, left, right });
      }
    }
    return boxes;
  }

  checkOverlaps(texts) {
    texts.sort((a, b) => a.top - b.top);
    let open = [];
    for (const box of texts) {
      open = open.filter((other) => other.bottom > box.top);
      for (const other of open) {
        const isSame = other.element === box.element;
        if (!isSame && other.left < box.right && box.left < other.right) {
          const text = other.element.textContent.trim().slice(0, 40);
          this.fault(`lies over '${text}':`, box.element);
        }
      }
      open.push(box);
    }
  }

  checkPictures() {
    for (const text of this.document.querySelectorAll("svg text")) {
      const box = text.getBoundingClientRect();
      const all = text.closest("svg").getBoundingClientRect();
      if (!box.width) continue;
      const isIn = box.left >= all.left - 1 && box.right <= all.right + 1
        && box.top >= all.top - 1 && box.bottom <= all.bottom + 1;
      if (!isIn) this.fault("is not within its picture:", text);
    }
  }

  look() {
    const root = this.document.documentElement;
    if (root.scrollWidth > this.width) {
      this.fault(`the page is ${root.scrollWidth} wide, the window ${this.width}`);
    }
    for (const element of this.document.body.querySelectorAll("*")) {
      if (element.checkVisibility()) this.checkWidth(element);
    }
    const texts = this.texts();
    new Set(texts.map((box) => box.element)).forEach((element) => this.checkContrast(element));
    this.checkOverlaps(texts);
    this.checkPictures();
  }

  // Looks at the page as it opens, and once all that is folded is unfolded.
  all() {
    const isDark = this.window.matchMedia("(prefers-color-scheme: dark)").matches;
    this.scheme = isDark ? "dark" : "light";
    this.look();
    this.document.querySelectorAll("details").forEach((details) => { details.open = true; });
    this.look();
    const ground = luminance(this.ground(this.document.documentElement));
    return {
      scheme: this.scheme,
      ground,
      texts: this.texts().length,
      pictures: this.document.querySelectorAll("svg").length,
      faults: [...new Set(this.faults)],
    };
  }
}

window.addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map((frame) => {
    const seen = new Inspection(frame).all();
    frame.remove();
    return seen;
  });
  // Nothing in it is to be mistaken for a tag.
  const plain = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const json = JSON.stringify(found).replace(/[<>&]/g, plain);
  document.body.textContent = `found:${json}:found`;
});
