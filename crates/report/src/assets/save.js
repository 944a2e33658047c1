"use strict";
// Charts as files: shared by the page of one run and the site of many.
const savePicture = (() => {
  const offer = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  // `svg` has its width and height in attributes; `kind` is svg or png.
  return (svg, name, kind) => {
    const blob = new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
    if (kind === "svg") return offer(blob, name + ".svg");
    const picture = new Image();
    picture.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * svg.getAttribute("width");
      canvas.height = 2 * svg.getAttribute("height");
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((png) => offer(png, name + ".png"));
      URL.revokeObjectURL(picture.src);
    };
    picture.src = URL.createObjectURL(blob);
  };
})();
