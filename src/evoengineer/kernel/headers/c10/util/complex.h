#pragma once
#include "../../evo/torch.h"
#include "../../evo/complex.h"
